// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.limits.policy.FailureMode;
import java.util.List;

/**
 * The policies that match a kind of call, as far as records tell. Immutable.
 *
 * @param fromMillis the first time for which they are these
 * @param untilMillis the first time for which they may be others
 * @param isCut whether more match than are evaluated, so that it is not known which
 * @param buckets of each policy that matches, or may match
 */
record Expectation(long fromMillis, long untilMillis, boolean isCut, List<Bucket> buckets) {

  /**
   * The bucket of a policy.
   *
   * @param policy the policy's name
   * @param policyHash the hash of it
   * @param key the hash of the bucket's key
   * @param limit the number of the limit
   * @param capacityTokens the most that the bucket holds
   * @param enforced whether it refuses calls
   * @param isCertain false if the policy looks at what is not recorded
   * @param isRecorded whether records tell of the bucket
   * @param denies whether the policy denies every call
   * @param onCacheFailure what decides a call that the cache does not
   * @param isUndecidedWhenCold whether the same decides while the cache answers, but has lost its
   *     state
   */
  record Bucket(
      String policy,
      long policyHash,
      long key,
      int limit,
      long capacityTokens,
      boolean enforced,
      boolean isCertain,
      boolean isRecorded,
      boolean denies,
      FailureMode onCacheFailure,
      boolean isUndecidedWhenCold,
      boolean decidesAlone) {

    /** Returns whether a call that is let through surely has this bucket on its record. */
    boolean isDue() {
      return isCertain && enforced && isRecorded;
    }
  }

  Expectation {
    buckets = List.copyOf(buckets);
  }

  boolean isCertain() {
    for (Bucket bucket : buckets) {
      if (!bucket.isCertain) {
        return false;
      }
    }
    return true;
  }

  boolean holds(long epochMillis) {
    return epochMillis >= fromMillis && epochMillis < untilMillis;
  }
}
