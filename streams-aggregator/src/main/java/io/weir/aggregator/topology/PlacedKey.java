// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.processor.StreamPartitioner;
import org.jspecify.annotations.Nullable;

/**
 * The key of a record sent to a sink, with the target partition: rows stay in the partition of
 * their calls.
 *
 * @param partition the partition
 * @param bytes the serialized key; null if the record has none
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
record PlacedKey(int partition, byte @Nullable [] bytes) {

  /** Returns a serializer that writes only the key. */
  static Serializer<PlacedKey> serializer() {
    return (topic, key) -> key.bytes();
  }

  /** Returns a partitioner that uses the partition of the key. */
  static StreamPartitioner<PlacedKey, byte[]> partitioner() {
    return (topic, key, value, partitions) -> Optional.of(Set.of(key.partition()));
  }
}
