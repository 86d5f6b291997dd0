// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.limits.BucketLimit;
import java.util.Map;

/**
 * What the decision cache holds at this moment. Who starts an aggregator gives it one that asks the
 * cache, since the aggregator itself knows the cache by what records say only. Safe for threads.
 */
@FunctionalInterface
public interface LiveCache {
  /** For an aggregator that cannot ask the cache. */
  LiveCache NOT_ASKED = buckets -> Map.of();

  /**
   * What one bucket holds.
   *
   * @param remainingTokens whole tokens: negative in a token bucket in debt, 0 in a quota in debt
   * @param atEpochMicros when, by the cache's clock
   * @param epoch the bucket's life, see {@link io.weir.topics.model.Charge}; 0 when it has none
   * @param chargedTokens tokens charged in that life
   */
  record Held(long remainingTokens, long atEpochMicros, long epoch, long chargedTokens) {}

  /**
   * Asks what buckets hold; changes nothing. Waits for some hundred milliseconds at most.
   *
   * @param buckets the limit of each bucket, by its key
   * @return by key; without those that the cache did not tell
   */
  Map<String, Held> ask(Map<String, BucketLimit> buckets);
}
