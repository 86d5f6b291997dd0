// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.aggregator.count.SeenIds;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;

/**
 * Ids in a window store, under the time the broker took them: time there only moves forward, so
 * that whole segments expire, and a wrong clock of a caller cannot make an id expire early.
 */
final class StreamsSeenIds implements SeenIds {
  /** Shorter than any key of ours. */
  private static final byte[] MARK = {0};

  private final WindowStore<Bytes, byte[]> store;
  private final long retentionMillis;

  StreamsSeenIds(WindowStore<Bytes, byte[]> store, long retentionMillis) {
    this.store = store;
    this.retentionMillis = retentionMillis;
  }

  /**
   * Writes an entry of no meaning. Kafka Streams takes a window store nothing was ever written to
   * for corrupt when the process starts again, and then restores all stores of the partition from
   * their changelogs.
   */
  void mark(long appendEpochMillis) {
    see(MARK, "", appendEpochMillis);
  }

  @Override
  public Seen see(byte[] key, String fingerprint, long appendEpochMillis) {
    byte[] value = fingerprint.getBytes(StandardCharsets.US_ASCII);
    Bytes id = Bytes.wrap(key);
    long from = Math.max(0, appendEpochMillis - retentionMillis);
    try (WindowStoreIterator<byte[]> seen = store.fetch(id, from, appendEpochMillis)) {
      if (seen.hasNext()) {
        byte[] known = seen.next().value;
        return Arrays.equals(known, value) ? Seen.AGAIN : Seen.OF_ANOTHER;
      }
    }
    store.put(id, value, appendEpochMillis);
    return Seen.NEW;
  }
}
