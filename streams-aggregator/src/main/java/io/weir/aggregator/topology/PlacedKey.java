// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.processor.StreamPartitioner;
import org.jspecify.annotations.Nullable;

/**
 * The key of an output record, with the partition to which the record is sent. An output record has
 * the same partition as its calls.
 *
 * @param partition the partition
 * @param bytes the serialized key; null if the record has no key
 */
@SuppressWarnings("ArrayRecordComponent") // arrays are never compared or changed
record PlacedKey(int partition, byte @Nullable [] bytes) {

  /** Returns a serializer that writes only the key. */
  static Serializer<PlacedKey> serializer() {
    return (topic, key) -> key.bytes();
  }

  /** Returns a partitioner that returns the partition in the key. */
  static StreamPartitioner<PlacedKey, byte[]> partitioner() {
    return (topic, key, value, partitions) -> Optional.of(Set.of(key.partition()));
  }
}
