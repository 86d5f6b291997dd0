// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.check.Decision.Cause;
import io.weir.limits.policy.FailureMode;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMode;
import io.weir.topics.model.DecidedBy;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the policies of a call say when the cache was asked and did not decide it. One that fails
 * closed refuses the call; else those that fail local are asked on this node; else the call passes.
 * One that denies every call needs no cache, and always does. Shadow policies have no say.
 *
 * <p>When the cache is only cold, nothing but its held quotas is in doubt, so only those have a
 * say, beside those that deny.
 *
 * @param decidedBy FAIL_CLOSED, LOCAL or FAIL_OPEN
 * @param policy the first policy that says so; null when only shadow policies matched
 * @param local the policies to ask on this node; empty but for LOCAL
 */
record Fallback(DecidedBy decidedBy, @Nullable Policy policy, List<MatchedPolicy> local) {

  static Fallback of(MatchedPolicies matched, Cause cause) {
    Policy closed = null;
    Policy open = null;
    List<MatchedPolicy> local = new ArrayList<>();
    for (MatchedPolicy match : matched.evaluated()) {
      Policy policy = match.policy();
      if (policy.mode() != PolicyMode.ENFORCE) {
        continue;
      }
      if (policy.denies()) {
        return new Fallback(DecidedBy.LOCAL, policy, List.of(match));
      }
      if (cause == Cause.COLD && !match.bucket().held()) {
        continue;
      }
      if (policy.onCacheFailure() == FailureMode.CLOSED) {
        closed = closed == null ? policy : closed;
      } else if (policy.onCacheFailure() == FailureMode.LOCAL) {
        local.add(match);
      } else if (open == null) {
        open = policy;
      }
    }
    if (closed != null) {
      return new Fallback(DecidedBy.FAIL_CLOSED, closed, List.of());
    }
    return local.isEmpty()
        ? new Fallback(DecidedBy.FAIL_OPEN, open, List.of())
        : new Fallback(DecidedBy.LOCAL, local.get(0).policy(), local);
  }
}
