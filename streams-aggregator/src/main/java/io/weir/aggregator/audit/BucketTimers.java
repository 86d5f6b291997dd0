// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.state.ByteStore;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * When each bucket is to be looked at next, in watermark time: the store's own order is the queue.
 * A timer that is not the one its bucket says it has is of the past and means nothing. Not safe for
 * threads.
 */
final class BucketTimers {
  private static final byte KIND = 't';
  private static final int HEAD_BYTES = 1 + Long.BYTES;
  private static final byte[] NOTHING = {};

  private final ByteStore store;

  /** No timer before this one is left: where the next scan begins, past what was deleted. */
  private byte[] from = key(0, "");

  /**
   * A timer.
   *
   * @param atMillis the watermark at which it is due
   */
  record Timer(long atMillis, String bucket) {}

  BucketTimers(ByteStore store) {
    this.store = store;
  }

  void set(String bucket, long atMillis) {
    byte[] key = key(atMillis, bucket);
    store.put(key, NOTHING);
    if (Arrays.compareUnsigned(key, from) < 0) {
      from = key;
    }
  }

  void remove(String bucket, long atMillis) {
    if (atMillis > 0) {
      store.delete(key(atMillis, bucket));
    }
  }

  /** Takes out the first timers that a watermark has reached. */
  List<Timer> due(long watermarkMillis, int most) {
    List<Timer> due = new ArrayList<>();
    for (ByteStore.Entry entry : store.scan(from, key(watermarkMillis + 1, ""), most)) {
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
