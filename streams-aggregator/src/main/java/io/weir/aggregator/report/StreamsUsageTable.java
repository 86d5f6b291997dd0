// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.topology.UsageViewTopology;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionAccuracyCodec;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.StreamsNotStartedException;
import org.apache.kafka.streams.state.HostInfo;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.jspecify.annotations.Nullable;

/** The table as {@code usage-view} holds it. */
final class StreamsUsageTable implements UsageTable {
  /** Behind every digit a window's start begins with, and every end of an endpoint's keys. */
  private static final String BEHIND_STARTS = ":";

  private final KafkaStreams usageView;
  private final HostInfo self;

  StreamsUsageTable(KafkaStreams usageView, HostInfo self) {
    this.usageView = usageView;
    this.self = self;
  }

  @Override
  public Owner owner(int partition) {
    return StreamsOwners.owner(usageView, self, Topics.STATE, partition);
  }

  @Override
  public Optional<PartitionProgress> progress(int partition) {
    return get(partition, PartitionProgressCodec.key(partition), PartitionProgressCodec::decode);
  }

  @Override
  public Optional<PartitionAccuracy> accuracy(int partition) {
    return get(partition, PartitionAccuracyCodec.key(partition), PartitionAccuracyCodec::decode);
  }

  @Override
  public Optional<UsageState> window(int partition, UsageKey key, long startEpochMillis) {
    String name = UsageStateCodec.prefix(key) + UsageStateCodec.start(startEpochMillis);
    return get(partition, name, UsageStateCodec::decode);
  }

  private interface Decoder<T> {
    T decode(byte[] value) throws MalformedRecordException;
  }

  private <T> Optional<T> get(int partition, String key, Decoder<T> decoder) {
    try {
      byte[] value = table(partition).get(key(key));
      return value == null ? Optional.empty() : Optional.of(decoder.decode(value));
    } catch (MalformedRecordException corrupt) {
      throw new IllegalStateException("the state topic holds a bad record at " + key, corrupt);
    } catch (InvalidStateStoreException moved) {
      throw StreamsOwners.unavailable(partition, moved);
    }
  }

  @Override
  public void read(
      int partition,
      UsageKey anyEndpoint,
      long fromEpochMillis,
      long toEpochMillis,
      Consumer<UsageState> into) {
    try {
      ReadOnlyKeyValueStore<Bytes, byte[]> table = table(partition);
      String ofMeter = prefixOfMeter(anyEndpoint);
      String ofEndpoint = firstEndpoint(table, ofMeter, ofMeter);
      while (ofEndpoint != null) {
        readWindows(
            table,
            ofEndpoint + UsageStateCodec.start(fromEpochMillis),
            ofEndpoint + UsageStateCodec.start(toEpochMillis),
            into);
        ofEndpoint = firstEndpoint(table, ofEndpoint + BEHIND_STARTS, ofMeter);
      }
    } catch (MalformedRecordException corrupt) {
      throw new IllegalStateException("the state topic holds a bad usage record", corrupt);
    } catch (InvalidStateStoreException moved) {
      throw StreamsOwners.unavailable(partition, moved);
    }
  }

  /** The prefix of the first endpoint's keys at or behind a place; null when there is none. */
  private static @Nullable String firstEndpoint(
      ReadOnlyKeyValueStore<Bytes, byte[]> table, String from, String ofMeter) {
    String behindMeter = ofMeter.substring(0, ofMeter.length() - 1) + '0'; // '0' follows '/'
    try (KeyValueIterator<Bytes, byte[]> range = table.range(key(from), key(behindMeter))) {
      if (!range.hasNext()) {
        return null;
      }
      String found = new String(range.next().key.get(), StandardCharsets.UTF_8);
      return found.startsWith(ofMeter)
          ? found.substring(0, found.indexOf('/', ofMeter.length()) + 1)
          : null;
    }
  }

  private static void readWindows(
      ReadOnlyKeyValueStore<Bytes, byte[]> table, String from, String to, Consumer<UsageState> into)
      throws MalformedRecordException {
    try (KeyValueIterator<Bytes, byte[]> range = table.range(key(from), key(to))) {
      while (range.hasNext()) {
        KeyValue<Bytes, byte[]> entry = range.next();
        if (!entry.key.equals(key(to))) { // Kafka's ranges include their end
          into.accept(UsageStateCodec.decode(entry.value));
        }
      }
    }
  }

  private static String prefixOfMeter(UsageKey key) {
    String withEndpoint = UsageStateCodec.prefix(new UsageKey(key.client(), key.meter(), "-"));
    return withEndpoint.substring(0, withEndpoint.length() - "-/".length());
  }

  private ReadOnlyKeyValueStore<Bytes, byte[]> table(int partition) {
    try {
      return usageView.store(
          StoreQueryParameters.fromNameAndType(
                  UsageViewTopology.TABLE, QueryableStoreTypes.<Bytes, byte[]>keyValueStore())
              .withPartition(partition));
    } catch (StreamsNotStartedException starting) {
      throw StreamsOwners.unavailable(partition, starting);
    }
  }

  private static Bytes key(String text) {
    return Bytes.wrap(text.getBytes(StandardCharsets.UTF_8));
  }
}
