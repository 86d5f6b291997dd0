// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.lettuce.core.RedisException;
import io.weir.e2e.healing.Rule.Place;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/** Looks at buckets again and again, on a thread of its own. */
final class BucketWatch implements AutoCloseable {
  private static final long BETWEEN_LOOKS_NANOS = 40_000_000;

  private final String redisUri;
  private final List<Place> places;
  private final List<KeptBucket> seen = new ArrayList<>();
  private final AtomicBoolean stopping = new AtomicBoolean();
  private final Thread thread = new Thread(this::watch, "bucket-watch");

  private BucketWatch(String redisUri, List<Place> places) {
    this.redisUri = redisUri;
    this.places = List.copyOf(places);
  }

  static BucketWatch start(String redisUri, List<Place> places) {
    BucketWatch watch = new BucketWatch(redisUri, places);
    watch.thread.start();
    return watch;
  }

  private void watch() {
    try (RedisEye eye = new RedisEye(redisUri)) {
      boolean last;
      do {
        last = stopping.get();
        try {
          seen.addAll(eye.look(places));
        } catch (RedisException away) {
          // what cannot be looked at is not seen; a proof asks for enough looks
          LockSupport.parkNanos(BETWEEN_LOOKS_NANOS);
        }
        if (!last) {
          LockSupport.parkNanos(BETWEEN_LOOKS_NANOS);
        }
      } while (!last);
    }
  }

  /** Looks a last time, and gives all that was seen, in the order of time. */
  List<KeptBucket> stop() throws InterruptedException {
    stopping.set(true);
    thread.join();
    return seen;
  }

  @Override
  public void close() {
    try {
      stop();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
