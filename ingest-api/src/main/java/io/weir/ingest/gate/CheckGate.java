// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.BucketReply;
import io.weir.decision.BucketRequest;
import io.weir.decision.Decision;
import io.weir.decision.DecisionCache;
import io.weir.decision.MatchedPolicies;
import io.weir.decision.PolicyMatcher;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.FailureMode;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.Stamp;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides a call, then records it: the answer is given only when the record is as durable as the
 * deployment asks. Safe for threads; a call blocks its thread for the cache's deadline and the
 * log's write at most.
 */
public final class CheckGate {
  private static final long MICROS_PER_MILLI = 1_000;

  private final PolicyMatcher policies;
  private final DecisionCache cache;
  private final CallLog log;
  private final Supplier<String> newIds;
  private final GateStatistics statistics = new GateStatistics();

  /**
   * Makes a gate.
   *
   * @param newIds gives an id to a call that brings none
   */
  public CheckGate(
      PolicyMatcher policies, DecisionCache cache, CallLog log, Supplier<String> newIds) {
    this.policies = policies;
    this.cache = cache;
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
      decided = judge(call, plan, decision, ticket.begunAtEpochMillis());
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
  public CheckOutcome.Decided peek(Call call) {
    Ticket ticket = log.begin();
    long nowEpochMillis = ticket.begunAtEpochMillis();
    ticket.abandon();
    MatchedPolicies plan = match(call, nowEpochMillis);
    Decision decision = plan.isEmpty() ? null : cache.peek(plan.check(call.cost()));
    return judge(call, plan, decision, nowEpochMillis);
  }

  private MatchedPolicies match(Call call, long nowEpochMillis) {
    return policies.match(call.client(), call.endpoint(), call.meter(), nowEpochMillis);
  }

  private CheckOutcome.Decided judge(
      Call call, MatchedPolicies plan, @Nullable Decision decision, long nowEpochMillis) {
    if (decision == null) {
      return undecided(call, DecidedBy.NONE, null, nowEpochMillis);
    }
    if (decision instanceof Decision.Decided decided) {
      return decided(call, plan, decided);
    }
    statistics.undecided.increment();
    Policy closed = firstEnforced(plan.policies(), FailureMode.CLOSED);
    if (closed != null) {
      return undecided(call, DecidedBy.FAIL_CLOSED, closed.name(), nowEpochMillis);
    }
    Policy open = firstEnforced(plan.policies(), FailureMode.OPEN);
    return undecided(call, DecidedBy.FAIL_OPEN, open == null ? null : open.name(), nowEpochMillis);
  }

  private static @Nullable Policy firstEnforced(List<Policy> policies, FailureMode mode) {
    for (Policy policy : policies) {
      if (policy.mode() == PolicyMode.ENFORCE && policy.onCacheFailure() == mode) {
        return policy;
      }
    }
    return null;
  }

  private CheckOutcome.Decided undecided(
      Call call, DecidedBy decidedBy, @Nullable String policy, long decidedAtEpochMillis) {
    boolean allowed = decidedBy != DecidedBy.FAIL_CLOSED;
    CallEvent event = event(call, allowed, decidedBy, policy, decidedAtEpochMillis, List.of());
    return new CheckOutcome.Decided(event, List.of(), null, null);
  }

  private CheckOutcome.Decided decided(Call call, MatchedPolicies plan, Decision.Decided decision) {
    List<LimitStatus> limits = new ArrayList<>(plan.policies().size());
    List<Charge> charges = new ArrayList<>(plan.policies().size());
    for (int i = 0; i < plan.policies().size(); i++) {
      BucketReply reply = decision.buckets().get(i);
      limits.add(new LimitStatus(plan.policies().get(i), reply));
      if (reply.charged()) {
        BucketRequest asked = plan.buckets().get(i);
        Stamp stamp =
            new Stamp(
                reply.epoch(),
                reply.version(),
                reply.chargedTokens(),
                decision.decidedAtEpochMicros() + reply.resetMicros());
        charges.add(new Charge(asked.bucket(), call.cost(), asked.limit(), stamp));
      }
    }
    CheckOutcome.Denial denial = null;
    String policy = nearest(limits);
    if (decision instanceof Decision.Denied denied) {
      policy = plan.policies().get(denied.decidingBucket()).name();
      denial = denial(limits, denied);
    }
    CallEvent event =
        event(
            call,
            denial == null,
            DecidedBy.CACHE,
            policy,
            decision.decidedAtEpochMicros() / MICROS_PER_MILLI,
            charges);
    return new CheckOutcome.Decided(event, limits, denial, null);
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
    return (double) limit.reply().remainingTokens() / limit.policy().limit().capacityTokens();
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
