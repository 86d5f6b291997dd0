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
 * Ids in a window store, by the time at which the broker appended them. That time only moves
 * forward, so whole segments expire, and a caller's wrong clock cannot make an id expire early.
 */
final class StreamsSeenIds implements SeenIds {
  /** Shorter than the key of any id. */
  private static final byte[] MARK = {0};

  private final WindowStore<Bytes, byte[]> store;
  private final long retentionMillis;

  StreamsSeenIds(WindowStore<Bytes, byte[]> store, CountSettings settings) {
    this.store = store;
    this.retentionMillis = retentionMillis(settings);
  }

  /**
   * Returns how long an id is remembered after the broker appended it, in milliseconds: for as long
   * as it may come again. A call is accepted until its age is the lateness, and may have been dated
   * ahead when it first came.
   */
  static long retentionMillis(CountSettings settings) {
    return settings.latenessMillis() + CountSettings.MAX_AHEAD_MILLIS;
  }

  /**
   * Writes an entry without meaning. When the process starts again, Kafka Streams regards a window
   * store that was never written to as corrupt, and then restores all stores of the partition from
   * their changelogs.
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
