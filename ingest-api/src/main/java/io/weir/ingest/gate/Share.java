// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.BucketLimit;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.TokenBucketLimit;
import java.math.BigInteger;

/**
 * One node's part of a limit when {@code nodes} share the traffic: 1 / nodes of the capacity,
 * rounded down but at least one token, and 1 / nodes of the speed. Example: capacity 100, 10 tokens
 * a second, 4 nodes: capacity 25, 10 tokens per 4 s.
 *
 * <p>All shares together never exceed the limit, but for two roundings: a capacity below the number
 * of nodes gives each node one token, and a speed below one token in 366 days and node gives each
 * node that one.
 */
final class Share {
  private Share() {}

  /**
   * The part of a limit.
   *
   * @param nodes how many share it, ≥ 1
   */
  static BucketLimit of(BucketLimit limit, int nodes) {
    if (limit.capacityTokens() == 0) {
      return limit;
    }
    long capacity = Math.max(1, limit.capacityTokens() / nodes);
    if (limit instanceof QuotaLimit quota) {
      return new QuotaLimit(capacity, quota.endsAtEpochMicros());
    }
    return nodes == 1 ? limit : share((TokenBucketLimit) limit, capacity, nodes);
  }

  private static TokenBucketLimit share(TokenBucketLimit limit, long capacity, int nodes) {
    long refill = limit.refillTokens();
    long periodMicros = limit.refillPeriodMicros() * nodes;
    long longest = TokenBucketLimit.MAX_PERIOD_MICROS;
    if (periodMicros > longest) {
      refill =
          BigInteger.valueOf(refill)
              .multiply(BigInteger.valueOf(longest))
              .divide(BigInteger.valueOf(periodMicros))
              .max(BigInteger.ONE)
              .longValue();
      periodMicros = longest;
    }
    try {
      return new TokenBucketLimit(capacity, refill, periodMicros);
    } catch (IllegalArgumentException notCountable) {
      // only limits at the edge of what can be counted come here; less than the share is safe
      return new TokenBucketLimit(1, 1, limit.refillPeriodMicros());
    }
  }
}
