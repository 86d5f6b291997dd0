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
 * A {@link SeenIds} over a window store of Kafka Streams, by the broker's time of an id. That time
 * never decreases, so whole segments expire, and a client's wrong clock cannot expire an id early.
 */
final class StreamsSeenIds implements SeenIds {
  /** Key of the mark; shorter than the key of any id. */
  private static final byte[] MARK = {0};

  private final WindowStore<Bytes, byte[]> store;
  private final long retentionMillis;

  StreamsSeenIds(WindowStore<Bytes, byte[]> store, CountSettings settings) {
    this.store = store;
    this.retentionMillis = retentionMillis(settings);
  }

  /**
   * Returns how long an id is kept after the broker appended it, in milliseconds: as long as it may
   * be repeated. A call is accepted until its age exceeds the lateness, and its decision time may
   * have been in the future at its first arrival.
   */
  static long retentionMillis(CountSettings settings) {
    return settings.latenessMillis() + CountSettings.MAX_AHEAD_MILLIS;
  }

  /**
   * Writes an entry without meaning, so that the store is not empty. After a restart, Kafka Streams
   * treats a window store without writes as corrupt, and restores all stores of the partition from
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
