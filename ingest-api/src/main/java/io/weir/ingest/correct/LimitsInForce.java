// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.limits.BucketKey;
import io.weir.limits.BucketLimit;
import io.weir.limits.Numbers;
import io.weir.limits.Refill;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.model.Stamp;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * Fits corrections to the policies in force: their debt caps, or one capacity of the correction's
 * limit when the policy is gone; and their limits, since a correction may speak of one that has
 * been changed meanwhile. Those of quotas are applied as they are. Not safe for threads.
 */
public final class LimitsInForce {
  private static final long MICROS_PER_MILLI = 1_000;

  private static final long NO_CAP = Numbers.MAX;

  private final Supplier<PolicySet> policies;
  private PolicySet known = PolicySet.EMPTY;
  private Map<BucketKey.Part, Policy> byPart = Map.of();

  /**
   * Limits of the policies in force.
   *
   * @param policies gives the same object until policies change
   */
  public LimitsInForce(Supplier<PolicySet> policies) {
    this.policies = policies;
  }

  /**
   * A correction as it is to be applied.
   *
   * @param nowEpochMillis about when
   * @throws IllegalArgumentException when the bucket's key is not one of ours
   */
  BoundedCorrection bound(Correction correction, long nowEpochMillis) {
    BucketKey.Part part = BucketKey.parse(correction.bucket()).policy();
    PolicySet current = policies.get();
    if (!current.equals(known)) {
      byPart = byPart(current);
      known = current;
    }
    if (!correction.limit().refills()) {
      // all that was used counts until the period ends, also against a limit that is raised
      return new BoundedCorrection(correction, NO_CAP);
    }
    Policy policy = byPart.get(part);
    if (policy == null || policy.limit().capacityTokens() == 0) {
      // what denies every call writes nothing, so that the bucket is still of the limit before
      return new BoundedCorrection(correction, correction.limit().capacityTokens());
    }
    BucketLimit now = policy.limit().lasting();
    if (now != null && !now.equals(correction.limit())) {
      Correction carriedOver = carriedOver(correction, now, nowEpochMillis);
      return new BoundedCorrection(carriedOver, policy.debtCapTokens(), true);
    }
    return new BoundedCorrection(correction, policy.debtCapTokens());
  }

  /**
   * What is missing, less what a lower capacity has cut off. Whether the bucket has been used under
   * the new limit yet is not known: one that was full has begun full, another has what was left. So
   * this is the least that is missing, and nothing may be given by it.
   */
  private static Correction carriedOver(
      Correction correction, BucketLimit now, long nowEpochMillis) {
    BucketLimit then = correction.limit();
    Refill refillThen = Objects.requireNonNull(then.refill());
    Refill refillNow = Objects.requireNonNull(now.refill());
    long fullAt = correction.fullAtEpochMicros();
    long nowMicros = nowEpochMillis * MICROS_PER_MILLI;
    long cutOff = Math.max(0, then.capacityTokens() - now.capacityTokens());
    double missing = refillThen.tokensIn(fullAt - nowMicros) - cutOff;
    long wait = Math.min(refillNow.microsFor(missing), Stamp.MAX_FULL_AT_MICROS);
    return correction.withLimit(
        now,
        missing <= 0
            ? Math.min(fullAt, nowMicros)
            : Math.min(nowMicros + wait, Stamp.MAX_FULL_AT_MICROS));
  }

  private static Map<BucketKey.Part, Policy> byPart(PolicySet policies) {
    Map<BucketKey.Part, Policy> byPart = new HashMap<>();
    for (Policy policy : policies.policies()) {
      byPart.put(BucketKey.Part.of(policy.name()), policy);
    }
    return byPart;
  }
}
