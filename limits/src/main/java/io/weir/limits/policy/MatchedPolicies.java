// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import java.util.List;

/**
 * The policies of one call, and the buckets they ask.
 *
 * @param policiesVersion version of the set they are from
 * @param policies those that are evaluated, in the set's order
 * @param buckets the bucket of each, in the same order
 * @param leftOut those that match but do not fit into one check: the last ones above {@value
 *     Check#MAX_BUCKETS}, shadow ones before enforced ones. Not evaluated; to be counted
 */
public record MatchedPolicies(
    long policiesVersion,
    List<Policy> policies,
    List<BucketRequest> buckets,
    List<Policy> leftOut) {
  public MatchedPolicies {
    policies = List.copyOf(policies);
    buckets = List.copyOf(buckets);
    leftOut = List.copyOf(leftOut);
    if (policies.size() != buckets.size()) {
      throw new IllegalArgumentException(
          policies.size() + " policies with " + buckets.size() + " buckets");
    }
  }

  /** True when no policy is for the call: there is nothing to check. */
  public boolean isEmpty() {
    return policies.isEmpty();
  }

  /**
   * The check of the call.
   *
   * @throws IllegalArgumentException when there is nothing to check or the cost is below 1
   */
  public Check check(long costTokens) {
    return new Check(buckets, costTokens);
  }
}
