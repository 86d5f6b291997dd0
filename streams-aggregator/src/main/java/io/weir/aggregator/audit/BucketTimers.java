// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.state.ByteStore;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The queue of buckets by the watermark at which each is to be examined next; the order of the
 * store's keys is the order of the queue. A timer other than the one that its bucket remembers is
 * outdated and has no meaning. Not thread-safe.
 */
final class BucketTimers {
  private static final byte KIND = 't';
  private static final int HEAD_BYTES = 1 + Long.BYTES;
  private static final byte[] NOTHING = {};

  private final ByteStore store;

  /** Where the next scan begins: no timer is left before this key, only deleted ones. */
  private byte[] from = key(0, "");

  /**
   * One timer.
   *
   * @param atMillis the watermark at which it is due
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

  /** Removes a timer; {@code atMillis} 0 means that there is none. */
  void remove(String bucket, long atMillis) {
    if (atMillis > 0) {
      store.delete(key(atMillis, bucket));
    }
  }

  /** Removes and returns the first timers that a watermark has reached, at most so many. */
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
