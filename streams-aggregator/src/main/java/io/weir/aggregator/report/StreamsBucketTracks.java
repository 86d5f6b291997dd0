// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.count.BucketStanding;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BucketKeys;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.UnknownStateStoreException;
import org.apache.kafka.streams.state.HostInfo;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.jspecify.annotations.Nullable;

/**
 * The tracks as {@code meter-core} holds them. A query sees what is not committed yet: it is newer,
 * and provisional.
 */
final class StreamsBucketTracks implements BucketTracks {
  /** What the keys of tracks begin with; the store holds other records too. */
  private static final String TRACK = "b";

  private final KafkaStreams meterCore;
  private final HostInfo self;
  private final String store;
  private final Function<byte[], @Nullable BucketStanding> decoder;

  /**
   * @param self the reports address of this process
   * @param store the name of the store of buckets
   * @param decoder reads a value of the store; null when it holds no standing
   */
  StreamsBucketTracks(
      KafkaStreams meterCore,
      HostInfo self,
      String store,
      Function<byte[], @Nullable BucketStanding> decoder) {
    this.meterCore = meterCore;
    this.self = self;
    this.store = store;
    this.decoder = decoder;
  }

  @Override
  public UsageTable.Owner owner(int partition) {
    return StreamsOwners.owner(meterCore, self, Topics.CALLS, partition);
  }

  @Override
  public List<BucketStanding> ofClient(int partition, String client, int atMost) {
    List<BucketStanding> found = new ArrayList<>();
    try (KeyValueIterator<Bytes, byte[]> range =
        tracks(partition)
            .prefixScan(TRACK + BucketKeys.clientPrefix(client), new StringSerializer())) {
      while (range.hasNext() && found.size() < atMost) {
        BucketStanding standing = decoder.apply(range.next().value);
        if (standing != null) {
          found.add(standing);
        }
      }
      return found;
    } catch (UnknownStateStoreException notKept) {
      return List.of();
    } catch (InvalidStateStoreException moved) {
      throw StreamsOwners.unavailable(partition, moved);
    }
  }

  private ReadOnlyKeyValueStore<Bytes, byte[]> tracks(int partition) {
    return meterCore.store(
        StoreQueryParameters.fromNameAndType(
                store, QueryableStoreTypes.<Bytes, byte[]>keyValueStore())
            .withPartition(partition));
  }
}
