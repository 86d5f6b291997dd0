// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.audit.bucket.BucketSnapshot;
import io.weir.limits.BucketKey;
import io.weir.topics.problem.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.LagInfo;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.errors.UnknownStateStoreException;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * A source of snapshots of a client's live buckets, which reads the state of {@code meter-core}. On
 * the instance that counts a partition, the snapshots can contain uncommitted changes. Such
 * snapshots are newer, but provisional. Snapshots from a copy contain only committed changes.
 * Thread-safe.
 */
final class BucketSnapshots {
  /** Prefix of the keys of audits. The store also contains other entries. */
  private static final String AUDIT = "b";

  /**
   * Maximum lag of a usable copy, in records. A copy with a greater lag is still being restored.
   */
  private static final long MAX_LAG_RECORDS = 10_000;

  private final KafkaStreams meterCore;
  private final String store;
  private final Function<byte[], BucketSnapshot> decoder;

  /**
   * The snapshots of a client's buckets.
   *
   * @param snapshots the live buckets, by key
   * @param isCopy whether the snapshots are from a copy of another instance's state
   * @param lagRecords number of changelog records that the copy lacks; 0 if the state is not a copy
   */
  record Found(List<BucketSnapshot> snapshots, boolean isCopy, long lagRecords) {
    Found {
      snapshots = List.copyOf(snapshots);
    }
  }

  /**
   * Creates the source.
   *
   * @param store name of the store of buckets
   * @param decoder decodes a value of the store
   */
  BucketSnapshots(KafkaStreams meterCore, String store, Function<byte[], BucketSnapshot> decoder) {
    this.meterCore = meterCore;
    this.store = store;
    this.decoder = decoder;
  }

  /**
   * Returns the live buckets of a client.
   *
   * @param partition the client's partition
   * @param atMost maximum number of buckets
   * @throws ProblemException if this instance neither counts the partition nor has a nearly
   *     complete copy of the partition's state
   */
  Found ofClient(int partition, String client, int atMost) {
    StoreQueryParameters<ReadOnlyKeyValueStore<Bytes, byte[]>> counted =
        StoreQueryParameters.fromNameAndType(
                store, QueryableStoreTypes.<Bytes, byte[]>keyValueStore())
            .withPartition(partition);
    try {
      return new Found(read(counted, client, atMost), false, 0);
    } catch (UnknownStateStoreException notKept) {
      return new Found(List.of(), false, 0);
    } catch (InvalidStateStoreException notCounted) {
      return ofCopy(partition, counted.enableStaleStores(), client, atMost);
    }
  }

  private Found ofCopy(
      int partition,
      StoreQueryParameters<ReadOnlyKeyValueStore<Bytes, byte[]>> copy,
      String client,
      int atMost) {
    try {
      LagInfo lag =
          meterCore.allLocalStorePartitionLags().getOrDefault(store, Map.of()).get(partition);
      if (lag == null || lag.offsetLag() > MAX_LAG_RECORDS) {
        throw unavailable(
            partition,
            lag == null
                ? "this instance has no copy"
                : "the copy on this instance is not complete yet");
      }
      return new Found(read(copy, client, atMost), true, lag.offsetLag());
    } catch (StreamsException | IllegalStateException moved) {
      throw unavailable(
          partition, "the partition is being moved or restored (" + moved.getMessage() + ")");
    }
  }

  private static ProblemException unavailable(int partition, String why) {
    return new ProblemException(Problem.partitionUnavailable(partition, why));
  }

  private List<BucketSnapshot> read(
      StoreQueryParameters<ReadOnlyKeyValueStore<Bytes, byte[]>> values,
      String client,
      int atMost) {
    List<BucketSnapshot> found = new ArrayList<>();
    try (KeyValueIterator<Bytes, byte[]> range =
        meterCore
            .store(values)
            .prefixScan(AUDIT + BucketKey.clientPrefix(client), new StringSerializer())) {
      while (range.hasNext() && found.size() < atMost) {
        found.add(decoder.apply(range.next().value));
      }
      return found;
    }
  }
}
