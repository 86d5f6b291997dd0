// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.limits.BucketLimit;
import java.util.Map;

/**
 * The contents of the decision cache at this moment. An aggregator knows the cache only through the
 * records, so whoever starts it supplies an implementation that asks the cache. Thread-safe.
 */
@FunctionalInterface
public interface LiveCache {
  /** For an aggregator that cannot ask the cache. */
  LiveCache NOT_ASKED = buckets -> Map.of();

  /**
   * The content of one bucket.
   *
   * @param remainingTokens whole tokens; negative in a token bucket in debt, 0 in a quota in debt
   * @param atEpochMicros the time of this content, by the cache's clock
   * @param epoch the bucket's epoch, see {@link io.weir.topics.model.Charge}; 0 if it has none
   * @param chargedTokens tokens charged in that epoch
   */
  record Held(long remainingTokens, long atEpochMicros, long epoch, long chargedTokens) {}

  /**
   * Asks the cache for the contents of buckets, without changing them. Waits for some hundred
   * milliseconds at most.
   *
   * @param buckets the limit of each bucket, by the bucket's key
   * @return contents by key, without those for which the cache did not answer
   */
  Map<String, Held> ask(Map<String, BucketLimit> buckets);
}
