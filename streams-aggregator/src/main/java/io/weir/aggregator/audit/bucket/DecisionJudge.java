// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;
import io.weir.limits.Refill;

/**
 * Judges single decisions of the cache on one bucket by what the true bucket held. Remembers the
 * cost of the calls it found wrongly denied, since the true bucket would have paid for them: it
 * holds that much less for the next. Not thread-safe.
 */
final class DecisionJudge {
  private long forgoneTokens;

  /** Creates a judge that remembers a cost of wrongly denied calls. */
  DecisionJudge(long forgoneTokens) {
    this.forgoneTokens = forgoneTokens;
  }

  /** Returns the cost of the calls wrongly denied since cache and records last agreed. */
  long forgoneTokens() {
    return forgoneTokens;
  }

  /** Forgets the calls wrongly denied, since cache and records agree. */
  void reset() {
    forgoneTokens = 0;
  }

  /**
   * Judges a decision.
   *
   * @param limit the limit of the true bucket
   * @param fullAtMicros when the true bucket would have been full, before the call
   * @param totalTokens Σ cost of the records before the call
   * @param costTokens what the call took; 0 when the cache refused it
   * @param askedTokens what the call asked for
   * @param atMicros when it was decided
   */
  Judgement judge(
      BucketLimit limit,
      long fullAtMicros,
      long totalTokens,
      long costTokens,
      long askedTokens,
      long atMicros) {
    if (costTokens > 0) {
      long latest = atMicros + TimeToFull.CLOCK_STEP_MICROS;
      return held(limit, fullAtMicros, totalTokens, askedTokens, latest)
          ? Judgement.RIGHT
          : Judgement.WRONGLY_ADMITTED;
    }
    long needed = Saturating.add(askedTokens, forgoneTokens);
    // what a window's earlier sub-windows counted is not known here
    if (!limit.decidesAlone() || !held(limit, fullAtMicros, totalTokens, needed, atMicros)) {
      return Judgement.RIGHT;
    }
    forgoneTokens = Saturating.add(forgoneTokens, askedTokens);
    return Judgement.WRONGLY_DENIED;
  }

  private static boolean held(
      BucketLimit limit, long fullAtMicros, long totalTokens, long tokens, long atMicros) {
    if (tokens > limit.capacityTokens()) {
      return false;
    }
    Refill refill = limit.refill();
    if (refill != null) {
      return fullAtMicros
              + refill.boundedMicrosFor(tokens)
              - refill.boundedMicrosFor(limit.capacityTokens())
          <= atMicros;
    }
    return Saturating.subtract(limit.capacityTokens(), totalTokens) >= tokens;
  }
}
