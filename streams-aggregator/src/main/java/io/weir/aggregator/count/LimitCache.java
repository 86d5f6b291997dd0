// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BucketLimit;
import io.weir.limits.FixedWindowLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import org.jspecify.annotations.Nullable;

/**
 * A cache of limits: a limit comes with every charge, and validating it takes longer than reading
 * it. A limit is replaced by another one that falls on its place. Not thread-safe.
 */
final class LimitCache {
  /** Places; a power of two, well above the limits in use. */
  private static final int PLACES = 1_024;

  private final @Nullable Entry[] places = new Entry[PLACES];

  private record Entry(
      long capacity, long refillTokens, long micros, long windowMicros, BucketLimit limit) {
    boolean isOf(long otherCapacity, long otherTokens, long otherMicros, long otherWindow) {
      return capacity == otherCapacity
          && refillTokens == otherTokens
          && micros == otherMicros
          && windowMicros == otherWindow;
    }
  }

  /**
   * Returns the limit of these numbers, or null if they make none.
   *
   * @param refillTokens 0 for a quota and for a window
   * @param micros the refill period, or the end of a quota's period or of a window
   * @param windowMicros the length of a window, 0 for all else
   */
  @Nullable BucketLimit get(long capacity, long refillTokens, long micros, long windowMicros) {
    long hash = ((capacity * 31 + refillTokens) * 31 + micros) * 31 + windowMicros;
    int place = (int) (hash ^ (hash >>> 32) ^ (hash >>> 11)) & (PLACES - 1);
    Entry known = places[place];
    if (known != null && known.isOf(capacity, refillTokens, micros, windowMicros)) {
      return known.limit;
    }
    try {
      BucketLimit limit = make(capacity, refillTokens, micros, windowMicros);
      places[place] = new Entry(capacity, refillTokens, micros, windowMicros, limit);
      return limit;
    } catch (IllegalArgumentException outOfRange) {
      return null;
    }
  }

  private static BucketLimit make(
      long capacity, long refillTokens, long micros, long windowMicros) {
    if (windowMicros > 0) {
      return new FixedWindowLimit(capacity, micros, windowMicros);
    }
    return refillTokens == 0
        ? new QuotaLimit(capacity, micros)
        : new TokenBucketLimit(capacity, refillTokens, micros);
  }
}
