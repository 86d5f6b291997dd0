// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Utils;

/**
 * Maps a client to its partition. Used by ingest to write, by the aggregator to route queries and
 * by the verifier to check. The partition is the one that Kafka's own producer computes with the
 * client's UTF-8 bytes as the key (murmur2, positive part, modulo), so that any producer keyed by
 * client agrees. Stateless and thread-safe.
 */
public final class ClientPartitioner {
  private ClientPartitioner() {}

  /** Returns the partition of a client among {@code partitions}, from 0. */
  public static int partition(String client, int partitions) {
    byte[] key = client.getBytes(StandardCharsets.UTF_8);
    return Utils.toPositive(Utils.murmur2(key)) % partitions;
  }
}
