// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;

/**
 * The settings for applying corrections to the cache.
 *
 * @param node name of this ingest node, unique among nodes and unchanged by a restart; the name
 *     identifies the node in the consumer group
 * @param kafka the connection to Kafka
 * @param maxPerSecond maximum number of corrections per second that this node applies to the cache,
 *     1 to {@value #MAX_RATE}. The limit keeps a burst of corrections from delaying decisions
 */
public record CorrectionSettings(String node, KafkaConnection kafka, int maxPerSecond) {
  /** Upper bound of {@code maxPerSecond}, far above the capacity of a Redis server. */
  public static final int MAX_RATE = 1_000_000;

  /** Default of {@code maxPerSecond}: about a tenth of the capacity of a Redis server. */
  public static final int DEFAULT_RATE = 20_000;

  public CorrectionSettings {
    if (!BatchHeader.isNodeName(node)) {
      throw new IllegalArgumentException(
          "node must have 1 to 64 characters from A-Za-z0-9._-, but is '" + node + "'");
    }
    if (maxPerSecond < 1 || maxPerSecond > MAX_RATE) {
      throw new IllegalArgumentException(
          "maxPerSecond must be between 1 and " + MAX_RATE + ", but is " + maxPerSecond);
    }
  }
}
