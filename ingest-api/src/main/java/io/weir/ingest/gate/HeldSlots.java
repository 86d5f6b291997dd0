// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.SlotKey;
import io.weir.limits.check.Check;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The slots that an allowed call holds, in all buckets with slots.
 *
 * @param token identifies the slots
 * @param leaseMicros time for which the call holds the slots without a renewal: the shortest lease
 *     of the slots
 * @param taken the slots that this attempt acquired, without slots that an earlier attempt of the
 *     call already held
 * @param ofThisTry true if the node created the call's id; if true, no other attempt has the same
 *     id
 */
public record HeldSlots(SlotToken token, long leaseMicros, List<SlotKey> taken, boolean ofThisTry) {
  public HeldSlots {
    taken = List.copyOf(taken);
  }

  /**
   * Returns the slots of a decided call; null if the call holds no slots.
   *
   * @param decided contains the states of the evaluated policies: all matching policies, or some of
   *     them
   * @param decidedAtMicros time of the decision, in microseconds since 1970 by the cache's clock
   */
  static @Nullable HeldSlots of(
      Call call, MatchedPolicies matched, CheckOutcome.Decided decided, long decidedAtMicros) {
    if (!decided.call().allowed() || !matched.hasSlots()) {
      return null;
    }
    List<SlotKey> keys = new ArrayList<>();
    List<SlotKey> taken = new ArrayList<>();
    long leaseMicros = Long.MAX_VALUE;
    for (LimitStatus status : decided.limits()) {
      if (status.limit().hasSlots() && status.reply().sufficient()) {
        SlotKey key = SlotKey.parse(bucketOf(status, matched));
        keys.add(key);
        if (status.reply().charged()) {
          taken.add(key);
        }
        leaseMicros = Math.min(leaseMicros, status.limit().leaseMicros());
      }
    }
    if (keys.isEmpty()) {
      return null;
    }
    SlotToken token = new SlotToken(call.claim().until(decidedAtMicros + leaseMicros), keys);
    return new HeldSlots(token, leaseMicros, taken, call.newId() != null);
  }

  private static String bucketOf(LimitStatus status, MatchedPolicies matched) {
    for (MatchedPolicy match : matched.evaluated()) {
      if (match.policy().name().equals(status.policy().name())) {
        return match.bucket().bucket();
      }
    }
    throw new IllegalStateException("no bucket of policy " + status.policy().name());
  }

  /** Returns the check that requests the slots of a call. */
  static Check check(Call call, MatchedPolicies matched) {
    return matched.hasSlots()
        ? matched.check(call.cost(), call.claim())
        : matched.check(call.cost());
  }
}
