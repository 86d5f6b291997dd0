// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.limits.BucketKey;
import io.weir.limits.BucketLimit;
import io.weir.limits.Numbers;
import io.weir.limits.PolicyLimit;
import io.weir.limits.Refill;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionRule;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.model.Stamp;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Adapts corrections to the policies in force. The policy's debt cap bounds the debit of a
 * correction. If the policy no longer exists, the capacity of the correction's limit bounds the
 * debit. If the policy's limit has changed since the correction was computed, the new limit
 * replaces the correction's limit. Corrections of quotas stay unchanged. Not thread-safe.
 */
final class LimitsInForce {
  private static final long MICROS_PER_MILLI = 1_000;

  private static final long NO_CAP = Numbers.MAX;

  private final Supplier<PolicySet> policies;
  private PolicySet known = PolicySet.EMPTY;
  private Map<BucketKey.Part, Policy> byPart = Map.of();
  private Map<BucketKey.Part, Map<String, PolicyLimit>> ownLimits = Map.of();

  /**
   * Creates an adapter.
   *
   * @param policies returns the policies in force; must return the same object until the policies
   *     change
   */
  LimitsInForce(Supplier<PolicySet> policies) {
    this.policies = policies;
  }

  /**
   * Returns the correction, adapted to the policies in force, with the bound of its debit.
   *
   * @param nowEpochMillis approximate current time
   * @throws IllegalArgumentException if the bucket's key is not a key of Weir
   */
  @SuppressWarnings("ReferenceEquality") // comparing 100,000 clients takes milliseconds
  BoundedCorrection bound(Correction correction, long nowEpochMillis) {
    BucketKey key = BucketKey.parse(correction.bucket());
    PolicySet current = policies.get();
    if (current != known) {
      byPart = byPart(current);
      ownLimits = ownLimits(current);
      known = current;
    }
    if (!correction.limit().refills()) {
      // all usage of the period counts, even if the limit was raised during the period
      return new BoundedCorrection(correction, NO_CAP);
    }
    Policy policy = ofClient(byPart.get(key.policy()), key.client());
    if (policy == null || policy.limit().capacityTokens() == 0) {
      // a policy that denies every call never writes the bucket, so the bucket still has its
      // earlier limit
      return new BoundedCorrection(correction, correction.limit().capacityTokens());
    }
    BucketLimit now = policy.limit().lasting();
    // a limit that does not refill has another bucket key, so this bucket is no longer used
    if (now != null && now.refills() && !now.equals(correction.limit())) {
      Correction carriedOver = carriedOver(correction, now, nowEpochMillis);
      return new BoundedCorrection(carriedOver, policy.debtCapTokens(), true);
    }
    return new BoundedCorrection(correction, policy.debtCapTokens());
  }

  /**
   * Returns the correction for a bucket whose limit has changed. The result has the missing tokens
   * of the old limit, minus the tokens that a lower capacity cuts off. A full bucket stays full
   * under the new limit; any other bucket keeps its tokens. It is unknown whether calls already
   * used the bucket under the new limit. So the result states a lower bound of the missing tokens,
   * and must not give tokens to the bucket.
   */
  private static Correction carriedOver(
      Correction correction, BucketLimit now, long nowEpochMillis) {
    BucketLimit then = correction.limit();
    Refill refillThen = Objects.requireNonNull(then.refill());
    Refill refillNow = Objects.requireNonNull(now.refill());
    long fullAt = correction.fullAtEpochMicros();
    long nowMicros = nowEpochMillis * MICROS_PER_MILLI;
    long knownMicros = CorrectionRule.knownThrough(correction);
    if (knownMicros - nowMicros > then.arithmetic().fillMicros()) {
      nowMicros = knownMicros; // the clock stepped back, so use the last known time
    }
    long cutOff = Math.max(0, then.capacityTokens() - now.capacityTokens());
    double missing = refillThen.tokensIn(fullAt - nowMicros) - cutOff;
    long wait = Math.min(refillNow.microsFor(missing), Stamp.MAX_FULL_AT_MICROS);
    return correction.withLimit(
        now,
        missing <= 0
            ? Math.min(fullAt, nowMicros)
            : Math.min(nowMicros + wait, Stamp.MAX_FULL_AT_MICROS));
  }

  /** Returns the policy, with the client's own limit if the client has one. */
  private @Nullable Policy ofClient(@Nullable Policy policy, BucketKey.Part client) {
    Map<String, PolicyLimit> own = policy == null ? null : ownLimits.get(client);
    PolicyLimit limit = own == null || policy == null ? null : own.get(policy.name());
    return limit == null || policy == null ? policy : policy.withLimit(limit);
  }

  private static Map<BucketKey.Part, Map<String, PolicyLimit>> ownLimits(PolicySet policies) {
    Map<BucketKey.Part, Map<String, PolicyLimit>> own = new HashMap<>();
    policies
        .clients()
        .settings()
        .forEach(
            (client, settings) -> {
              if (!settings.limits().isEmpty()) {
                own.put(BucketKey.Part.of(client), settings.limits());
              }
            });
    return own;
  }

  private static Map<BucketKey.Part, Policy> byPart(PolicySet policies) {
    Map<BucketKey.Part, Policy> byPart = new HashMap<>();
    for (Policy policy : policies.policies()) {
      byPart.put(BucketKey.Part.of(policy.name()), policy);
    }
    return byPart;
  }
}
