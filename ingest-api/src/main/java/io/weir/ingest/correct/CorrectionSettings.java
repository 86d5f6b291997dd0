// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;

/**
 * How corrections are applied.
 *
 * @param node name of this ingest node, unique among nodes and the same after a restart; identifies
 *     its membership in the group of appliers
 * @param kafka how to reach Kafka
 * @param maxPerSecond most corrections per second that this node applies to the cache, 1 to {@value
 *     #MAX_RATE}; a burst of corrections must not starve decisions
 */
public record CorrectionSettings(String node, KafkaConnection kafka, int maxPerSecond) {
  /** Upper bound of {@code maxPerSecond}; far above what a Redis server can apply. */
  public static final int MAX_RATE = 1_000_000;

  /** Default of {@code maxPerSecond}: about a tenth of what a Redis server can do in a second. */
  public static final int DEFAULT_RATE = 20_000;

  public CorrectionSettings {
    if (!BatchHeader.isNodeName(node)) {
      throw new IllegalArgumentException("node must be 1 to 64 of A-Za-z0-9._-, is '" + node + "'");
    }
    if (maxPerSecond < 1 || maxPerSecond > MAX_RATE) {
      throw new IllegalArgumentException(
          "corrections a second must be 1 to " + MAX_RATE + ", is " + maxPerSecond);
    }
  }
}
