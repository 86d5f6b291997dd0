// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BucketLimit;
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

  private record Entry(long capacity, long refillTokens, long micros, BucketLimit limit) {}

  /**
   * Returns the limit of these numbers, or null if they make none.
   *
   * @param refillTokens 0 for a quota
   * @param micros the refill period, or the end of a quota's period
   */
  @Nullable BucketLimit get(long capacity, long refillTokens, long micros) {
    long hash = (capacity * 31 + refillTokens) * 31 + micros;
    int place = (int) (hash ^ (hash >>> 32) ^ (hash >>> 11)) & (PLACES - 1);
    Entry known = places[place];
    if (known != null
        && known.capacity == capacity
        && known.refillTokens == refillTokens
        && known.micros == micros) {
      return known.limit;
    }
    try {
      BucketLimit limit =
          refillTokens == 0
              ? new QuotaLimit(capacity, micros)
              : new TokenBucketLimit(capacity, refillTokens, micros);
      places[place] = new Entry(capacity, refillTokens, micros, limit);
      return limit;
    } catch (IllegalArgumentException outOfRange) {
      return null;
    }
  }
}
