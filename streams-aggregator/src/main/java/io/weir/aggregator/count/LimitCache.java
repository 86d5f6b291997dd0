// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BucketLimit;
import io.weir.limits.FixedWindowLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.SlidingWindowLimit;
import io.weir.limits.TokenBucketLimit;
import org.jspecify.annotations.Nullable;

/**
 * A cache of validated limits. Every charge contains a limit, and a lookup is faster than a
 * validation. A new entry replaces the entry in the same slot. Not thread-safe.
 */
final class LimitCache {
  /** Number of slots, a power of two. There are many more slots than limits in use. */
  private static final int PLACES = 1_024;

  private final @Nullable Entry[] places = new Entry[PLACES];

  /**
   * The numbers of a limit.
   *
   * @param refillTokens tokens gained each refill period; 0 for quotas and windows
   * @param micros refill period of a token bucket, or end of the period of a quota or window, in
   *     microseconds
   * @param windowMicros the length of a window in microseconds; 0 for other limits
   * @param subWindows number of sub-windows of a sliding window; 0 for other limits
   */
  record Numbers(
      long capacity, long refillTokens, long micros, long windowMicros, long subWindows) {
    int place() {
      long hash = ((capacity * 31 + refillTokens) * 31 + micros) * 31 + windowMicros;
      hash = hash * 31 + subWindows;
      return (int) (hash ^ (hash >>> 32) ^ (hash >>> 11)) & (PLACES - 1);
    }
  }

  private record Entry(Numbers numbers, BucketLimit limit) {}

  /** Returns the limit with these numbers, or null if the numbers are invalid. */
  @Nullable BucketLimit get(Numbers numbers) {
    int place = numbers.place();
    Entry known = places[place];
    if (known != null && known.numbers.equals(numbers)) {
      return known.limit;
    }
    try {
      BucketLimit limit = make(numbers);
      places[place] = new Entry(numbers, limit);
      return limit;
    } catch (IllegalArgumentException outOfRange) {
      return null;
    }
  }

  private static BucketLimit make(Numbers by) {
    if (by.subWindows > 0) {
      return new SlidingWindowLimit(by.capacity, by.micros, by.windowMicros, by.subWindows);
    }
    if (by.windowMicros > 0) {
      return new FixedWindowLimit(by.capacity, by.micros, by.windowMicros);
    }
    return by.refillTokens == 0
        ? new QuotaLimit(by.capacity, by.micros)
        : new TokenBucketLimit(by.capacity, by.refillTokens, by.micros);
  }
}
