// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.BucketReply;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyMode;

/**
 * Where a call stands with one policy after the decision.
 *
 * @param policy the policy
 * @param reply what its bucket answered
 */
public record LimitStatus(Policy policy, BucketReply reply) {
  /** Whether the policy can refuse calls. */
  public boolean enforced() {
    return policy.mode() == PolicyMode.ENFORCE;
  }
}
