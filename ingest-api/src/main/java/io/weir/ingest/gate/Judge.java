// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.BillingCalendar;
import io.weir.limits.BucketLimit;
import io.weir.limits.IpAddress;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.IpPrefix;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.Policy;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Converts the cache's decision on a call to the outcome for the caller, with the event to record.
 * If the cache did not decide, applies the policies' failure modes. Thread-safe; blocks no thread.
 */
final class Judge {
  /** The reply for a policy that denies every call: the policy's bucket never has tokens. */
  private static final BucketReply NOTHING = new BucketReply(false, 0, 0, -1, 0, 0, 0, false);

  private static final long MICROS_PER_MILLI = 1_000;

  private final LocalDecider local;
  private final Slots slots;
  private final GateStatistics statistics;
  private final Supplier<String> newIds;

  /**
   * Creates a judge.
   *
   * @param local decides while the cache is unavailable, for policies with failure mode {@code
   *     local}
   * @param newIds creates ids for calls without an id
   */
  Judge(LocalDecider local, Slots slots, GateStatistics statistics, Supplier<String> newIds) {
    this.local = local;
    this.slots = slots;
    this.statistics = statistics;
    this.newIds = newIds;
  }

  /**
   * Returns the outcome of a call, with the slots that an allowed call holds.
   *
   * @param decision the cache's decision; null if the cache was not queried
   */
  CheckOutcome ofCall(
      Call call, MatchedPolicies matched, @Nullable Decision decision, long nowEpochMillis) {
    CheckOutcome.Shed shed = shed(decision);
    if (shed != null) {
      slots.giveUpUndecided(call, matched, null, nowEpochMillis);
      return shed;
    }
    CheckOutcome.Decided decided = judge(call, matched, decision, false, nowEpochMillis);
    long decidedAtMicros =
        decision instanceof Decision.Decided byCache
            ? byCache.decidedAtEpochMicros()
            : nowEpochMillis * MICROS_PER_MILLI;
    HeldSlots held = HeldSlots.of(call, matched, decided, decidedAtMicros);
    if (held != null) {
      statistics.slots.acquired.increment(held.taken().size());
    }
    if (mayHaveTaken(decision)) {
      slots.giveUpUndecided(call, matched, held, nowEpochMillis);
    }
    return decided.with(held);
  }

  /** Returns whether the cache may have charged buckets although the decision shows no charge. */
  private static boolean mayHaveTaken(@Nullable Decision decision) {
    return decision instanceof Decision.Undecided
        || (decision instanceof Decision.StillDenied denied && denied.isPartial());
  }

  /** Returns the outcome of a peek. */
  CheckOutcome ofPeek(
      Call call, MatchedPolicies matched, @Nullable Decision decision, long nowEpochMillis) {
    CheckOutcome.Shed shed = shed(decision);
    return shed == null ? judge(call, matched, decision, true, nowEpochMillis) : shed;
  }

  /**
   * Returns the outcome {@code Shed} if the cache's client in this node rejected the check because
   * of overload; otherwise null.
   */
  private CheckOutcome.@Nullable Shed shed(@Nullable Decision decision) {
    if (decision instanceof Decision.Undecided none && none.cause() == Decision.Cause.REJECTED) {
      statistics.shed.increment();
      return new CheckOutcome.Shed(none.detail());
    }
    return null;
  }

  /** Returns the outcome of a call that takes tokens from a lease of this node. */
  CheckOutcome.Decided ofLease(Call call, MatchedPolicies matched, LeasedBuckets.Taken leased) {
    List<LimitStatus> limits = new ArrayList<>(matched.evaluated().size());
    for (MatchedPolicy match : matched.evaluated()) {
      limits.add(
          new LimitStatus(
              match.policy(), match.bucket().limit(), match.period(), leased.reply(limits.size())));
    }
    return new CheckOutcome.Decided(
        event(
            call,
            matched,
            true,
            DecidedBy.LEASE,
            nearest(limits),
            leased.takenAtEpochMicros() / MICROS_PER_MILLI,
            leased.charges()),
        limits,
        null,
        null);
  }

  private CheckOutcome.Decided judge(
      Call call,
      MatchedPolicies matched,
      @Nullable Decision decision,
      boolean peek,
      long nowEpochMillis) {
    if (decision == null) {
      MatchedPolicy blocking = matched.blocking();
      if (blocking != null) {
        return blocked(call, matched, blocking, nowEpochMillis);
      }
      if (!peek && matched.isEmpty()) {
        statistics.unmatched.count(call.facts().endpoint());
      }
      CallEvent event = event(call, matched, true, DecidedBy.NONE, null, nowEpochMillis, List.of());
      return withoutABucket(event);
    }
    if (decision instanceof Decision.Undecided undecided) {
      statistics.undecided.increment();
      return fallback(call, matched, undecided.cause(), peek, nowEpochMillis);
    }
    if (decision instanceof Decision.StillDenied denied) {
      return stillDenied(call, matched, denied, nowEpochMillis);
    }
    Decision.Decided decided = (Decision.Decided) decision;
    local.cacheDecided(matched.evaluated(), decided, call.cost(), nowEpochMillis);
    slots.cacheDecided(nowEpochMillis);
    List<LimitStatus> limits = new ArrayList<>(matched.evaluated().size());
    for (MatchedPolicy match : matched.evaluated()) {
      limits.add(status(match, match.bucket().limit(), decided, limits.size()));
    }
    return decidedByBuckets(
        call,
        matched,
        DecidedBy.CACHE,
        limits,
        decided,
        decided.decidedAtEpochMicros() / MICROS_PER_MILLI,
        Charges.of(matched, decided, call.cost()));
  }

  /** Returns the denial by a policy that denies every call. Such a call needs no cache query. */
  private CheckOutcome.Decided blocked(
      Call call, MatchedPolicies matched, MatchedPolicy blocking, long nowEpochMillis) {
    List<LimitStatus> limits =
        List.of(
            new LimitStatus(
                blocking.policy(), blocking.bucket().limit(), blocking.period(), NOTHING));
    return new CheckOutcome.Decided(
        event(
            call,
            matched,
            false,
            DecidedBy.DENY_CACHE,
            blocking.policy().name(),
            nowEpochMillis,
            List.of()),
        limits,
        denial(limits, true),
        null);
  }

  /**
   * Returns a denial that repeats the cache's earlier denials of the same buckets. The states of
   * the other buckets are unknown.
   */
  private CheckOutcome.Decided stillDenied(
      Call call, MatchedPolicies matched, Decision.StillDenied denied, long nowEpochMillis) {
    List<LimitStatus> limits = new ArrayList<>(denied.shortages().size());
    LimitStatus deciding = null;
    for (Decision.StillDenied.Shortage shortage : denied.shortages()) {
      MatchedPolicy match = matched.evaluated().get(shortage.bucket());
      LimitStatus limit =
          new LimitStatus(match.policy(), match.bucket().limit(), match.period(), shortage.reply());
      limits.add(limit);
      if (deciding == null
          || limit.reply().retryAfterMicros() > deciding.reply().retryAfterMicros()) {
        deciding = limit;
      }
    }
    String policy = deciding == null ? null : deciding.policy().name();
    return new CheckOutcome.Decided(
        event(call, matched, false, DecidedBy.DENY_CACHE, policy, nowEpochMillis, List.of()),
        limits,
        denial(limits, false),
        null);
  }

  private CheckOutcome.Decided fallback(
      Call call, MatchedPolicies matched, Decision.Cause cause, boolean peek, long nowEpochMillis) {
    Fallback fallback = Fallback.of(matched, cause);
    DecidedBy decidedBy = fallback.decidedBy();
    if (decidedBy != DecidedBy.LOCAL) {
      Policy policy = fallback.policy();
      boolean allowed = decidedBy == DecidedBy.FAIL_OPEN;
      return withoutABucket(
          event(
              call,
              matched,
              allowed,
              decidedBy,
              policy == null ? null : policy.name(),
              nowEpochMillis,
              allowed ? Charges.unstamped(matched, call.cost()) : List.of()));
    }
    List<BucketRequest> buckets = fallback.local().stream().map(MatchedPolicy::bucket).toList();
    Check check = HeldSlots.check(call, matched).of(buckets);
    Decision.Decided decided = local.decide(check, peek, nowEpochMillis);
    List<LimitStatus> limits = new ArrayList<>(buckets.size());
    for (MatchedPolicy match : fallback.local()) {
      limits.add(status(match, local.share(match.bucket().limit()), decided, limits.size()));
    }
    return decidedByBuckets(
        call,
        matched,
        DecidedBy.LOCAL,
        limits,
        decided,
        nowEpochMillis,
        decided instanceof Decision.Denied ? List.of() : Charges.unstamped(matched, call.cost()));
  }

  private static LimitStatus status(
      MatchedPolicy match, BucketLimit limit, Decision.Decided decision, int index) {
    return new LimitStatus(match.policy(), limit, match.period(), decision.buckets().get(index));
  }

  private static CheckOutcome.Decided withoutABucket(CallEvent event) {
    return new CheckOutcome.Decided(event, List.of(), null, null);
  }

  private CheckOutcome.Decided decidedByBuckets(
      Call call,
      MatchedPolicies matched,
      DecidedBy decidedBy,
      List<LimitStatus> limits,
      Decision.Decided decision,
      long decidedAtEpochMillis,
      List<Charge> charges) {
    CheckOutcome.Denial denial = null;
    String policy = nearest(limits);
    if (decision instanceof Decision.Denied denied) {
      policy = limits.get(denied.decidingBucket()).policy().name();
      denial = denial(limits, denied.costExceedsCapacity());
    }
    CallEvent event =
        event(call, matched, denial == null, decidedBy, policy, decidedAtEpochMillis, charges);
    return new CheckOutcome.Decided(event, limits, denial, null);
  }

  private static CheckOutcome.Denial denial(List<LimitStatus> limits, boolean costExceedsCapacity) {
    List<String> violated = new ArrayList<>();
    long retryAfterMicros = 0;
    for (LimitStatus limit : limits) {
      if (limit.enforced() && !limit.reply().sufficient()) {
        violated.add(limit.policy().name());
        retryAfterMicros = Math.max(retryAfterMicros, limit.reply().retryAfterMicros());
      }
    }
    return new CheckOutcome.Denial(
        violated, costExceedsCapacity ? -1 : retryAfterMicros, costExceedsCapacity);
  }

  /**
   * Returns the name of the policy that has the smallest fraction of its capacity left. Enforced
   * policies have precedence over shadow policies.
   */
  private static String nearest(List<LimitStatus> limits) {
    LimitStatus nearest = limits.get(0);
    for (LimitStatus limit : limits) {
      if (limit.enforced() != nearest.enforced()
          ? limit.enforced()
          : partLeft(limit) < partLeft(nearest)) {
        nearest = limit;
      }
    }
    return nearest.policy().name();
  }

  private static double partLeft(LimitStatus limit) {
    long capacity = limit.limit().capacityTokens();
    return capacity == 0 ? 0 : (double) limit.reply().remainingTokens() / capacity;
  }

  /** Returns the event that records a call. */
  private CallEvent event(
      Call call,
      MatchedPolicies matched,
      boolean allowed,
      DecidedBy decidedBy,
      @Nullable String policy,
      long decidedAtEpochMillis,
      List<Charge> charges) {
    String id = call.id();
    String newId = call.newId();
    CallFacts facts = call.facts();
    IpAddress ip = facts.ip();
    BillingCalendar billing = matched.billing();
    return new CallEvent(
        id != null ? id : newId != null ? newId : newIds.get(),
        id != null,
        facts.client(),
        facts.endpoint(),
        facts.meter(),
        call.cost(),
        allowed,
        decidedBy,
        policy,
        matched.policiesVersion(),
        decidedAtEpochMillis,
        ip == null ? null : IpPrefix.OF_RECORDS.of(ip).toString(),
        charges,
        null,
        billing == null ? null : billing.at(decidedAtEpochMillis));
  }
}
