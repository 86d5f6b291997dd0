// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.limits.BucketLimit;
import java.util.Map;

/**
 * A source of the current contents of the decision cache. An aggregator itself has no connection to
 * the cache. So the program that starts the aggregator supplies an implementation that queries the
 * cache. Thread-safe.
 */
@FunctionalInterface
public interface LiveCache {
  /** An implementation without a cache, which returns no contents. */
  LiveCache NOT_ASKED = buckets -> Map.of();

  /**
   * The content of one bucket.
   *
   * @param remainingTokens remaining whole tokens; negative for a token bucket with a debt, 0 for a
   *     quota with a debt
   * @param atEpochMicros time of the content by the cache's clock, in microseconds since 1970
   * @param epoch the bucket epoch, see {@link io.weir.topics.model.Charge}; 0 if the bucket has
   *     none
   * @param chargedTokens tokens charged in the epoch
   */
  record Held(long remainingTokens, long atEpochMicros, long epoch, long chargedTokens) {}

  /**
   * Queries the cache for the contents of buckets, without changing them. Waits at most a few
   * hundred milliseconds.
   *
   * @param buckets the limit of each bucket, by the bucket's key
   * @return contents by key; omits buckets for which the cache has not responded
   */
  Map<String, Held> ask(Map<String, BucketLimit> buckets);
}
