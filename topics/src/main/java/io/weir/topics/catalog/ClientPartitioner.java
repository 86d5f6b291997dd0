// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Utils;

/**
 * The one rule that gives a client its partition, used by ingest to write, by the aggregator to
 * route queries and by the verifier to check. It is what Kafka's own producer does with the
 * client's UTF-8 bytes as the key (murmur2, positive part, modulo), so that any producer keyed by
 * client agrees.
 */
public final class ClientPartitioner {
  private ClientPartitioner() {}

  /** The partition of a client among {@code partitions}. */
  public static int partition(String client, int partitions) {
    byte[] key = client.getBytes(StandardCharsets.UTF_8);
    return Utils.toPositive(Utils.murmur2(key)) % partitions;
  }
}
