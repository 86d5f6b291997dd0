// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.DecisionCache;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides a call, then records it: the answer is given only when the record is as durable as the
 * deployment asks. Safe for threads; a call blocks its thread for the cache's patience and the
 * log's write at most.
 */
public final class CheckGate {
  private static final long MICROS_PER_MILLI = 1_000;

  private final PolicyMatcher policies;
  private final DecisionCache cache;
  private final LocalDecider local;
  private final CallLog log;
  private final Supplier<String> newIds;
  private final GateStatistics statistics = new GateStatistics();

  /**
   * Makes a gate.
   *
   * @param local decides while the cache cannot, where policy says so
   * @param newIds gives an id to a call that brings none
   */
  public CheckGate(
      PolicyMatcher policies,
      DecisionCache cache,
      LocalDecider local,
      CallLog log,
      Supplier<String> newIds) {
    this.policies = policies;
    this.cache = cache;
    this.local = local;
    this.log = log;
    this.newIds = newIds;
  }

  /** What the gate has counted. */
  public GateStatistics statistics() {
    return statistics;
  }

  /** Decides and records a call. */
  public CheckOutcome check(Call call) {
    Ticket ticket = log.begin();
    CheckOutcome.Decided decided;
    try {
      MatchedPolicies plan = match(call, ticket.begunAtEpochMillis());
      statistics.policiesLeftOut.add(plan.leftOut().size());
      Decision decision = plan.isEmpty() ? null : cache.take(plan.check(call.cost()));
      CheckOutcome.Shed shed = shed(decision);
      if (shed != null) {
        ticket.abandon();
        return shed;
      }
      decided = judge(call, plan, decision, false, ticket.begunAtEpochMillis());
    } catch (RuntimeException | Error failed) {
      ticket.abandon();
      throw failed;
    }
    Recorded recorded = log.record(ticket, decided.call());
    if (recorded instanceof Recorded.Refused refused) {
      statistics.notKept.increment();
      return new CheckOutcome.NotKept(refused);
    }
    statistics.count(decided.call());
    return new CheckOutcome.Decided(decided.call(), decided.limits(), decided.denial(), recorded);
  }

  /** Says what {@link #check} would answer now; nothing is consumed and nothing is recorded. */
  public CheckOutcome peek(Call call) {
    Ticket ticket = log.begin();
    long nowEpochMillis = ticket.begunAtEpochMillis();
    ticket.abandon();
    MatchedPolicies plan = match(call, nowEpochMillis);
    Decision decision = plan.isEmpty() ? null : cache.peek(plan.check(call.cost()));
    CheckOutcome.Shed shed = shed(decision);
    return shed == null ? judge(call, plan, decision, true, nowEpochMillis) : shed;
  }

  /** What becomes of a call for which the cache was not asked; null when it was. */
  private CheckOutcome.@Nullable Shed shed(@Nullable Decision decision) {
    if (decision instanceof Decision.Undecided none && none.cause() == Decision.Cause.REJECTED) {
      statistics.shed.increment();
      return new CheckOutcome.Shed(none.detail());
    }
    return null;
  }

  private MatchedPolicies match(Call call, long nowEpochMillis) {
    return policies.match(call.client(), call.endpoint(), call.meter(), nowEpochMillis);
  }

  private CheckOutcome.Decided judge(
      Call call,
      MatchedPolicies plan,
      @Nullable Decision decision,
      boolean peek,
      long nowEpochMillis) {
    if (decision == null) {
      return undecided(call, DecidedBy.NONE, null, nowEpochMillis, List.of());
    }
    if (decision instanceof Decision.Undecided undecided) {
      statistics.undecided.increment();
      return fallback(call, plan, undecided.cause(), peek, nowEpochMillis);
    }
    local.cacheDecided(nowEpochMillis);
    Decision.Decided decided = (Decision.Decided) decision;
    return outcome(
        call,
        DecidedBy.CACHE,
        limits(call, plan.policies(), plan.buckets(), decided, nowEpochMillis),
        decided,
        decided.decidedAtEpochMicros() / MICROS_PER_MILLI,
        Charges.of(plan, decided, call.cost()));
  }

  private CheckOutcome.Decided fallback(
      Call call, MatchedPolicies plan, Decision.Cause cause, boolean peek, long nowEpochMillis) {
    Fallback fallback = Fallback.of(plan, cause);
    Policy policy = fallback.policy();
    String name = policy == null ? null : policy.name();
    if (fallback.decidedBy() == DecidedBy.FAIL_CLOSED) {
      return undecided(call, DecidedBy.FAIL_CLOSED, name, nowEpochMillis, List.of());
    }
    List<Charge> owed = Charges.unstamped(plan, call.cost());
    if (fallback.decidedBy() == DecidedBy.FAIL_OPEN) {
      return undecided(call, DecidedBy.FAIL_OPEN, name, nowEpochMillis, owed);
    }
    Decision.Decided decided =
        local.decide(fallback.localBuckets(), call.cost(), peek, nowEpochMillis);
    List<BucketRequest> shares =
        fallback.localBuckets().stream()
            .map(asked -> new BucketRequest(asked.bucket(), local.share(asked.limit()), true))
            .toList();
    return outcome(
        call,
        DecidedBy.LOCAL,
        limits(call, fallback.local(), shares, decided, nowEpochMillis),
        decided,
        nowEpochMillis,
        decided instanceof Decision.Denied ? List.of() : owed);
  }

  /** Of a call that no bucket decided. */
  private CheckOutcome.Decided undecided(
      Call call,
      DecidedBy decidedBy,
      @Nullable String policy,
      long decidedAtEpochMillis,
      List<Charge> charges) {
    boolean allowed = decidedBy != DecidedBy.FAIL_CLOSED;
    CallEvent event = event(call, allowed, decidedBy, policy, decidedAtEpochMillis, charges);
    return new CheckOutcome.Decided(event, List.of(), null, null);
  }

  private CheckOutcome.Decided outcome(
      Call call,
      DecidedBy decidedBy,
      List<LimitStatus> limits,
      Decision.Decided decision,
      long decidedAtEpochMillis,
      List<Charge> charges) {
    CheckOutcome.Denial denial = null;
    String policy = nearest(limits);
    if (decision instanceof Decision.Denied denied) {
      policy = limits.get(denied.decidingBucket()).policy().name();
      denial = denial(limits, denied);
    }
    CallEvent event = event(call, denial == null, decidedBy, policy, decidedAtEpochMillis, charges);
    return new CheckOutcome.Decided(event, limits, denial, null);
  }

  private List<LimitStatus> limits(
      Call call,
      List<Policy> asked,
      List<BucketRequest> buckets,
      Decision.Decided decision,
      long nowEpochMillis) {
    List<LimitStatus> limits = new ArrayList<>(asked.size());
    for (int i = 0; i < asked.size(); i++) {
      Policy policy = asked.get(i);
      PeriodicLimit.Span period = policies.period(policy, call.client(), nowEpochMillis);
      limits.add(
          new LimitStatus(policy, buckets.get(i).limit(), period, decision.buckets().get(i)));
    }
    return limits;
  }

  private static CheckOutcome.Denial denial(List<LimitStatus> limits, Decision.Denied denied) {
    List<String> violated = new ArrayList<>();
    long retryAfterMicros = 0;
    for (LimitStatus limit : limits) {
      if (limit.enforced() && !limit.reply().sufficient()) {
        violated.add(limit.policy().name());
        retryAfterMicros = Math.max(retryAfterMicros, limit.reply().retryAfterMicros());
      }
    }
    return new CheckOutcome.Denial(
        violated,
        denied.costExceedsCapacity() ? -1 : retryAfterMicros,
        denied.costExceedsCapacity());
  }

  /** The policy with the smallest part of its capacity left; enforced ones come first. */
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

  private CallEvent event(
      Call call,
      boolean allowed,
      DecidedBy decidedBy,
      @Nullable String policy,
      long decidedAtEpochMillis,
      List<Charge> charges) {
    String id = call.id();
    return new CallEvent(
        id == null ? newIds.get() : id,
        id != null,
        call.client(),
        call.endpoint(),
        call.meter(),
        call.cost(),
        allowed,
        decidedBy,
        policy,
        policies.policiesVersion(),
        decidedAtEpochMillis,
        call.ipPrefix(),
        charges);
  }
}
