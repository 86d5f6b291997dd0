// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.BucketLimit;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMode;
import org.jspecify.annotations.Nullable;

/**
 * The state of one policy after the decision of a call.
 *
 * @param limit the limit of the bucket: the policy's limit, or this node's share of it
 * @param period the period of the bucket; null if the bucket is not periodic
 * @param reply the bucket's reply
 */
public record LimitStatus(
    Policy policy, BucketLimit limit, PeriodicLimit.@Nullable Span period, BucketReply reply) {
  /** Returns whether the policy can deny calls. */
  public boolean enforced() {
    return policy.mode() == PolicyMode.ENFORCE;
  }

  /** Returns the number of whole tokens left; 0 for a bucket in debt. */
  public long remainingTokens() {
    return Math.max(0, reply.remainingTokens());
  }
}
