// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.check.Decision.Cause;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMode;
import io.weir.topics.model.DecidedBy;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The combined failure modes of the policies that match an undecided call. If a policy has failure
 * mode {@code closed}, the call is denied. Otherwise, if policies have failure mode {@code local},
 * this node decides by these policies. Otherwise the call is allowed. Shadow policies are ignored.
 *
 * <p>If the cache is available but not restored, only quotas with {@code on_cold_cache: hold} and
 * policies that are not recorded take part. All other policies are ignored: corrections from the
 * records charge their buckets later.
 *
 * @param decidedBy FAIL_CLOSED, LOCAL or FAIL_OPEN
 * @param policy the first policy that determined {@code decidedBy}; null if there is none
 * @param local the policies to evaluate on this node; empty unless {@code decidedBy} is LOCAL
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
      if (cause == Cause.COLD && !match.bucket().held() && policy.isRecorded()) {
        continue;
      }
      if (policy.onCacheFailure() == CacheFailureMode.CLOSED) {
        closed = closed == null ? policy : closed;
      } else if (policy.onCacheFailure() == CacheFailureMode.LOCAL) {
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
