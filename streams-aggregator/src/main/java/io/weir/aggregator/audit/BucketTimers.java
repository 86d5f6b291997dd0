// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.state.ByteStore;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The queue of the buckets to examine, ordered by the watermark at which each bucket must be
 * examined next. The order of keys in the store is the order of the queue. A timer is outdated and
 * ignored if it differs from the timer in the bucket's audit. Not thread-safe.
 */
final class BucketTimers {
  private static final byte KIND = 't';
  private static final int HEAD_BYTES = 1 + Long.BYTES;
  private static final byte[] NOTHING = {};

  private final ByteStore store;

  /**
   * Key at which the next scan begins. Only deleted timers have lower keys, and a scan of their
   * tombstones would be slow.
   */
  private byte[] from = key(0, "");

  /**
   * One timer.
   *
   * @param atMillis the watermark at which the timer is due
   * @param bucket the bucket to examine
   */
  record Timer(long atMillis, String bucket) {}

  BucketTimers(ByteStore store) {
    this.store = store;
  }

  /** Adds a timer. */
  void set(String bucket, long atMillis) {
    byte[] key = key(atMillis, bucket);
    store.put(key, NOTHING);
    if (Arrays.compareUnsigned(key, from) < 0) {
      from = key;
    }
  }

  /**
   * Removes a timer. Does nothing if {@code atMillis} is 0, because the bucket then has no timer.
   */
  void remove(String bucket, long atMillis) {
    if (atMillis > 0) {
      store.delete(key(atMillis, bucket));
    }
  }

  /** Removes and returns the timers that are due at a watermark, at most {@code maxTimers}. */
  List<Timer> due(long watermarkMillis, int maxTimers) {
    List<Timer> due = new ArrayList<>();
    for (ByteStore.Entry entry : store.scan(from, key(watermarkMillis + 1, ""), maxTimers)) {
      ByteBuffer key = ByteBuffer.wrap(entry.key(), 1, entry.key().length - 1);
      long at = key.getLong();
      due.add(new Timer(at, StandardCharsets.UTF_8.decode(key).toString()));
      store.delete(entry.key());
      from = ByteStore.behind(entry.key());
    }
    return due;
  }

  private static byte[] key(long atMillis, String bucket) {
    byte[] name = bucket.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(HEAD_BYTES + name.length)
        .put(KIND)
        .putLong(Math.max(0, atMillis))
        .put(name)
        .array();
  }
}
