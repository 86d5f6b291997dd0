// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.limits.BucketLimit;
import java.util.Map;

/**
 * The current contents of the decision cache. An aggregator knows the cache only through the
 * records, so the program that starts it supplies an implementation that queries the cache.
 * Thread-safe.
 */
@FunctionalInterface
public interface LiveCache {
  /** An implementation without a cache; returns no contents. */
  LiveCache NOT_ASKED = buckets -> Map.of();

  /**
   * The content of one bucket.
   *
   * @param remainingTokens whole tokens; negative for a token bucket in debt, 0 for a quota in debt
   * @param atEpochMicros the time of this content, by the cache's clock
   * @param epoch the bucket's epoch, see {@link io.weir.topics.model.Charge}; 0 if it has none
   * @param chargedTokens tokens charged in that epoch
   */
  record Held(long remainingTokens, long atEpochMicros, long epoch, long chargedTokens) {}

  /**
   * Queries the cache for the contents of buckets, without changing them. Waits a few hundred
   * milliseconds at most.
   *
   * @param buckets the limit of each bucket, by the bucket's key
   * @return contents by key; omits buckets for which the cache did not answer
   */
  Map<String, Held> ask(Map<String, BucketLimit> buckets);
}
