// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.BucketLimit;
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
   * Asks for the tokens that buckets hold; changes nothing. Waits for some hundred milliseconds at
   * most.
   *
   * @param buckets the limit of each bucket, by its key
   * @return whole tokens by key: negative in a token bucket in debt, 0 in a quota in debt; without
   *     those that the cache did not tell
   */
  Map<String, Long> remainingTokens(Map<String, BucketLimit> buckets);
}
