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
import org.jspecify.annotations.Nullable;

/**
 * A {@link BucketSnapshots} that reads the state of {@code meter-core}. On the instance that counts
 * a partition, the snapshots may be uncommitted, so they are newer but provisional. From a copy,
 * the snapshots are committed.
 */
final class StreamsBucketSnapshots implements BucketSnapshots {
  /** Prefix of the keys of audits. The store also contains other entries. */
  private static final String AUDIT = "b";

  /** Maximum lag of a usable copy, in records. A copy with a greater lag is not complete yet. */
  private static final long MAX_LAG_RECORDS = 10_000;

  private final KafkaStreams meterCore;
  private final String store;
  private final Function<byte[], @Nullable BucketSnapshot> decoder;

  /**
   * Creates the source.
   *
   * @param store name of the store of buckets
   * @param decoder decodes a value of the store; returns null if the value contains no snapshot
   */
  StreamsBucketSnapshots(
      KafkaStreams meterCore, String store, Function<byte[], @Nullable BucketSnapshot> decoder) {
    this.meterCore = meterCore;
    this.store = store;
    this.decoder = decoder;
  }

  @Override
  public Found ofClient(int partition, String client, int atMost) {
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
        BucketSnapshot snapshot = decoder.apply(range.next().value);
        if (snapshot != null) {
          found.add(snapshot);
        }
      }
      return found;
    }
  }
}
