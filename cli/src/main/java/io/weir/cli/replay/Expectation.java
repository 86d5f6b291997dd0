// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.limits.policy.CacheFailureMode;
import java.util.List;

/**
 * The policies that match a kind of call, as far as records show. Immutable.
 *
 * @param fromMillis first time for which they match
 * @param untilMillis first time for which other policies may match
 * @param isCut whether more policies match than are evaluated, so that the evaluated ones are
 *     unknown
 * @param buckets the bucket of each policy that matches or may match
 */
record Expectation(long fromMillis, long untilMillis, boolean isCut, List<Bucket> buckets) {

  /**
   * The bucket of a policy.
   *
   * @param policy the policy's name
   * @param policyHash hash of the policy's name
   * @param key hash of the bucket's key
   * @param limit number of the limit
   * @param capacityTokens maximum number of tokens of the bucket
   * @param enforced whether the policy denies calls
   * @param isCertain false if the policy depends on values that are not recorded
   * @param isRecorded whether records have the bucket
   * @param denies whether the policy denies every call
   * @param onCacheFailure what decides a call when Redis does not
   * @param isUndecidedWhenCold whether {@code onCacheFailure} also decides while Redis answers but
   *     is not restored
   * @param decidesAlone whether the bucket's content alone decides if it has enough tokens for a
   *     cost
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
      CacheFailureMode onCacheFailure,
      boolean isUndecidedWhenCold,
      boolean decidesAlone) {

    /** Returns whether the record of an allowed call must have this bucket. */
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
