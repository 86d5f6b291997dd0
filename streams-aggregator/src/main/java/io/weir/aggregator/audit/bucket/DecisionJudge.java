// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.StoredMembers;
import io.weir.limits.BucketLimit;
import io.weir.limits.Refill;

/**
 * A judge of the cache's decisions for one bucket. It compares each decision with the content of
 * the true bucket, which is the bucket according to the records. The true bucket would have
 * admitted a wrongly denied call, and would then lack its cost for later calls. So the judge sums
 * the costs of wrongly denied calls. Not thread-safe.
 */
final class DecisionJudge {
  /** The result of the comparison of a decision with the true bucket. */
  enum Judgement {
    /** No error is known. */
    RIGHT,
    /** The cache admitted the call although the true bucket had too few tokens. */
    WRONGLY_ADMITTED,
    /** The cache denied the call although the true bucket had enough tokens. */
    WRONGLY_DENIED
  }

  /** Sum of the costs of the calls that were wrongly denied since cache and records last agreed. */
  private long forgoneTokens;

  /** Writes or reads the sum. */
  void store(StoredMembers members) {
    forgoneTokens = members.integer(forgoneTokens);
  }

  /** Sets the sum to 0, because cache and records agree. */
  void reset() {
    forgoneTokens = 0;
  }

  /**
   * Judges a decision.
   *
   * @param limit the limit of the true bucket
   * @param fullAtMicros time at which the true bucket would have been full without the call
   * @param totalTokens sum of the costs of the records before the call
   * @param costTokens tokens charged for the call; 0 if the cache denied it
   * @param requestedTokens cost of the call
   * @param atMicros time of the decision
   */
  Judgement judge(
      BucketLimit limit,
      long fullAtMicros,
      long totalTokens,
      long costTokens,
      long requestedTokens,
      long atMicros) {
    if (costTokens > 0) {
      long latest = atMicros + TimeToFull.CLOCK_STEP_MICROS;
      return held(limit, fullAtMicros, totalTokens, requestedTokens, latest)
          ? Judgement.RIGHT
          : Judgement.WRONGLY_ADMITTED;
    }
    long needed = Saturating.add(requestedTokens, forgoneTokens);
    // the counts of earlier sub-windows of a sliding window are unknown here
    if (!limit.decidesAlone() || !held(limit, fullAtMicros, totalTokens, needed, atMicros)) {
      return Judgement.RIGHT;
    }
    forgoneTokens = Saturating.add(forgoneTokens, requestedTokens);
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
