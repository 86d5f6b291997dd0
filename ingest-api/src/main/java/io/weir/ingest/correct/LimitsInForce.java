// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.BucketCorrector.Bounded;
import io.weir.topics.model.BucketKeys;
import io.weir.topics.model.CalendarQuota;
import io.weir.topics.model.Correction;
import io.weir.topics.model.LimitChange;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicySet;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.TokenBucketLimit;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Fits corrections to the policies in force: their debt caps, or one capacity of the correction's
 * limit when the policy is gone; and their limits, since a correction may speak of one that has
 * been changed meanwhile. Not safe for threads.
 */
public final class LimitsInForce {
  /** What a name that is too long or too strange for a key is replaced by. */
  private static final String HASHED = "h:";

  private static final long MICROS_PER_MILLI = 1_000;

  private final Supplier<PolicySet> policies;
  private PolicySet known = PolicySet.EMPTY;
  private Map<String, Policy> byPart = Map.of();

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
  Bounded bound(Correction correction, long nowEpochMillis) {
    String part = BucketKeys.policyPart(correction.bucket());
    PolicySet current = policies.get();
    if (!current.equals(known)) {
      byPart = byPart(current);
      known = current;
    }
    Policy policy = byPart.get(part);
    if (policy == null || policy.limit().capacityTokens() == 0) {
      // what denies every call writes nothing, so that the bucket is still of the limit before
      return new Bounded(correction, correction.limit().capacityTokens());
    }
    if (correction.limit() instanceof TokenBucketLimit then
        && policy.limit() instanceof TokenBucketLimit now
        && !now.equals(then)) {
      Correction carriedOver = carriedOver(correction, then, now, nowEpochMillis);
      return new Bounded(carriedOver, policy.debtCapTokens(), true);
    }
    if (correction.limit() instanceof QuotaLimit then
        && policy.limit() instanceof CalendarQuota now
        && now.capacityTokens() > then.capacityTokens()) {
      // what was used beyond a capacity and its debt cap is forgiven: by the greater of the two,
      // since either may be the older one while nodes are restarted with other policies
      QuotaLimit inForce = new QuotaLimit(now.capacityTokens(), then.endsAtEpochMicros());
      return new Bounded(
          correction.withLimit(inForce, correction.fullAtEpochMicros()), policy.debtCapTokens());
    }
    return new Bounded(correction, policy.debtCapTokens());
  }

  /**
   * What is missing, less what a lower capacity has cut off. Whether the bucket has been used under
   * the new limit yet is not known: one that was full has begun full, another has what was left. So
   * this is the least that is missing, and nothing may be given by it.
   */
  private static Correction carriedOver(
      Correction correction, TokenBucketLimit then, TokenBucketLimit now, long nowEpochMillis) {
    long fullAt = correction.fullAtEpochMicros();
    long nowMicros = nowEpochMillis * MICROS_PER_MILLI;
    long cutOff = Math.max(0, then.capacityTokens() - now.capacityTokens());
    double missing = LimitChange.tokens(then, fullAt - nowMicros) - cutOff;
    return correction.withLimit(
        now,
        missing <= 0
            ? Math.min(fullAt, nowMicros)
            : Math.min(nowMicros + LimitChange.micros(now, missing), Stamp.MAX_FULL_AT_MICROS));
  }

  private static Map<String, Policy> byPart(PolicySet policies) {
    Map<String, Policy> byPart = new HashMap<>();
    for (Policy policy : policies.policies()) {
      String part = BucketKeys.part(policy.name());
      byPart.put(part.startsWith(HASHED) ? part : policy.name(), policy);
    }
    return byPart;
  }
}
