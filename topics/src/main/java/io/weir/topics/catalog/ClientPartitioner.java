// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Utils;

/**
 * Maps a client to its partition. Ingest nodes use this class to write records, the aggregator to
 * route queries, and {@code weir verify} to check partitions. The result is the partition that
 * Kafka's default partitioner selects if the key is the client in UTF-8 (murmur2, positive part,
 * modulo). Every producer whose key is the client therefore selects the same partition. Stateless
 * and thread-safe.
 */
public final class ClientPartitioner {
  private ClientPartitioner() {}

  /** Returns the partition of a client among {@code partitions}, from 0. */
  public static int partition(String client, int partitions) {
    byte[] key = client.getBytes(StandardCharsets.UTF_8);
    return Utils.toPositive(Utils.murmur2(key)) % partitions;
  }
}
