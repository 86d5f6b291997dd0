// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.SlotKey;
import io.weir.limits.check.Check;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The slots that an allowed call holds, in all buckets that have any.
 *
 * @param token names them
 * @param leaseMicros how long they are held without a renewal: the shortest of their leases
 * @param taken those of them that the call did not hold before
 * @param ofThisTry whether nobody but this try of the call can hold them: its id is the node's, not
 *     the caller's
 */
public record HeldSlots(SlotToken token, long leaseMicros, List<SlotKey> taken, boolean ofThisTry) {
  public HeldSlots {
    taken = List.copyOf(taken);
  }

  /**
   * Returns the slots of a decided call; null if it holds none.
   *
   * @param decided with the states of the policies that were evaluated, which may be a part of
   *     those that match
   * @param decidedAtMicros when it was decided, in microseconds since 1970 by the cache's clock
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
      if (status.limit() instanceof ConcurrencyLimit limit && status.reply().sufficient()) {
        SlotKey key = SlotKey.parse(bucketOf(status, matched));
        keys.add(key);
        if (status.reply().charged()) {
          taken.add(key);
        }
        leaseMicros = Math.min(leaseMicros, limit.leaseMicros());
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

  /** Returns the check by which the slots of a call are asked for. */
  static Check check(Call call, MatchedPolicies matched) {
    return matched.hasSlots()
        ? matched.check(call.cost(), call.claim())
        : matched.check(call.cost());
  }
}
