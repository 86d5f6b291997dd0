// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.aggregator.state.ByteStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.internals.CachedStateStore;
import org.jspecify.annotations.Nullable;

/** A {@link ByteStore} that uses a key-value store of Kafka Streams. Not thread-safe. */
final class StreamsByteStore implements ByteStore {
  private final KeyValueStore<Bytes, byte[]> store;

  StreamsByteStore(KeyValueStore<Bytes, byte[]> store) {
    this.store = store;
  }

  /** Writes the entries in the cache to the store and to its changelog topic. */
  void flushCache() {
    if (store instanceof CachedStateStore<?, ?> cached) {
      cached.flushCache();
    }
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    return store.get(Bytes.wrap(key));
  }

  @Override
  public void put(byte[] key, byte[] value) {
    store.put(Bytes.wrap(key), value);
  }

  @Override
  public void delete(byte[] key) {
    // delete() would read the old value to return it
    store.put(Bytes.wrap(key), null);
  }

  @Override
  public List<Entry> scan(byte[] from, byte[] to, int maxEntries) {
    List<Entry> entries = new ArrayList<>();
    try (KeyValueIterator<Bytes, byte[]> range = store.range(Bytes.wrap(from), Bytes.wrap(to))) {
      while (entries.size() < maxEntries && range.hasNext()) {
        KeyValue<Bytes, byte[]> next = range.next();
        byte[] key = next.key.get();
        if (Arrays.compareUnsigned(key, to) >= 0) { // the range of Kafka Streams includes its end
          break;
        }
        entries.add(new Entry(key, next.value));
      }
    }
    return entries;
  }
}
