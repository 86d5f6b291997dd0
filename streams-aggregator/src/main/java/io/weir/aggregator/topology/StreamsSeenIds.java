// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.count.SeenIds;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.jspecify.annotations.Nullable;

/**
 * A {@link SeenIds} that uses a window store of Kafka Streams. The time of an entry is the time at
 * which the broker appended the record, limited by {@link
 * io.weir.aggregator.count.PartitionCounter#timeEpochMillis}. This time never decreases, so whole
 * segments expire, and a client's wrong clock cannot make an id expire early.
 */
final class StreamsSeenIds implements SeenIds {
  /** Key of the entry that {@link #mark} writes; the key of an id has more bytes. */
  private static final byte[] MARK = {0};

  private final WindowStore<Bytes, byte[]> store;
  private final long retentionMillis;

  StreamsSeenIds(WindowStore<Bytes, byte[]> store, CountSettings settings) {
    this.store = store;
    this.retentionMillis = retentionMillis(settings);
  }

  /**
   * Returns the time for which an id is kept after the broker appended its record, in milliseconds.
   * For at most this time, the aggregator accepts a repeated call with this id: until the call's
   * age exceeds the maximum lateness. The call's decision time can be in the future when the call
   * first arrives, so this time is greater than the lateness.
   */
  static long retentionMillis(CountSettings settings) {
    return settings.latenessMillis() + CountSettings.MAX_AHEAD_MILLIS;
  }

  /**
   * Writes an entry so that the store is not empty. The entry has no other purpose. After a
   * restart, Kafka Streams treats an empty window store as corrupt, and restores all stores of the
   * partition from their changelogs.
   */
  void mark(long appendEpochMillis) {
    if (find(MARK, appendEpochMillis) == null) {
      remember(MARK, "", appendEpochMillis);
    }
  }

  @Override
  public @Nullable String find(byte[] key, long appendEpochMillis) {
    long from = Math.max(0, appendEpochMillis - retentionMillis);
    try (WindowStoreIterator<byte[]> seen = store.fetch(Bytes.wrap(key), from, appendEpochMillis)) {
      return seen.hasNext() ? new String(seen.next().value, StandardCharsets.US_ASCII) : null;
    }
  }

  @Override
  public void remember(byte[] key, String text, long appendEpochMillis) {
    store.put(Bytes.wrap(key), text.getBytes(StandardCharsets.US_ASCII), appendEpochMillis);
  }
}
