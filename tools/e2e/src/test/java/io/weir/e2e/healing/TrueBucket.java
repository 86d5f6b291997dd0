// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.limits.BucketLimit;
import io.weir.limits.TokenBucketLimit;

/**
 * A bucket as it should be: it takes every call it is told of, below zero if it must, and knows
 * nothing of caches. Deliberately another arithmetic than the product's: a level and a time, not a
 * time at which it is full.
 *
 * <p>The debt cap is left to the caller: what a debt amounts to depends on when it is collected.
 */
final class TrueBucket {
  private final double capacityTokens;
  private final double tokensPerMicro;
  private double level;
  private long atMicros;

  TrueBucket(BucketLimit limit) {
    this.capacityTokens = (double) limit.capacityTokens();
    this.tokensPerMicro =
        limit instanceof TokenBucketLimit bucket
            ? (double) bucket.refillTokens() / bucket.refillPeriodMicros()
            : 0;
    this.level = capacityTokens;
  }

  /** Takes tokens at a moment, not before the one told before. */
  void take(long epochMicros, long tokens) {
    level = levelAt(epochMicros) - tokens;
    atMicros = Math.max(atMicros, epochMicros);
  }

  /** Returns the tokens at a time; negative if the bucket is in debt. */
  double levelAt(long epochMicros) {
    double passed = (double) Math.max(0, epochMicros - atMicros);
    return Math.min(capacityTokens, level + passed * tokensPerMicro);
  }
}
