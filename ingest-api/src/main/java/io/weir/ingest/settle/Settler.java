// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.ingest.settle.CallFinder.Finding;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.UsagePosition;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Settles calls: finds a call, records its actual cost, and waits for the aggregator's verdict. The
 * aggregator decides, because it knows which calls it billed and which settlement of a call came
 * first. If the call is not found, records no settlement. Thread-safe.
 */
public final class Settler {
  private final CallFinder finder;
  private final CallLog log;
  private final Verdicts verdicts;
  private final Map<Result, Counter> counters = new EnumMap<>(Result.class);

  /** The kinds of outcome. */
  enum Result {
    /** The settlement changed the bill. */
    SETTLED,
    /** The settlement was recorded, but the aggregator's verdict did not arrive in time. */
    PENDING,
    /** The call was already billed at this cost. */
    UNCHANGED,
    /**
     * The search read a part of the calls topic, and found no attempt of the call, or only denied
     * attempts.
     */
    NOT_FOUND,
    /** The call was denied, was not billed, or is already settled at another cost. */
    CONFLICT,
    /** The client's searches have used up the client's read budget. */
    EXHAUSTED,
    /** The search failed, or the settlement could not be recorded. */
    UNAVAILABLE
  }

  /** Provides the aggregator's verdicts on settlements. Thread-safe. */
  @FunctionalInterface
  public interface Verdicts {
    /**
     * Waits, for a bounded time, for the verdict on a settlement of this node.
     *
     * @param settlement the settlement's position
     * @return the verdict, or null after the timeout or if too many threads already wait
     */
    @Nullable SettlementVerdict await(UsagePosition settlement);
  }

  /**
   * Creates a settler.
   *
   * @param registry receives the counts of outcomes
   */
  public Settler(CallFinder finder, CallLog log, Verdicts verdicts, MeterRegistry registry) {
    this.finder = finder;
    this.log = log;
    this.verdicts = verdicts;
    for (Result each : Result.values()) {
      counters.put(
          each,
          Counter.builder("weir.settlements")
              .description("requests to settle a call, by result")
              .tag("result", each.name().toLowerCase(Locale.ROOT).replace('_', '-'))
              .register(registry));
    }
  }

  /**
   * Settles a call.
   *
   * @param actualCost the cost at which to bill the call, 0 to {@link CallEvent#MAX_QUANTITY}
   */
  public SettleOutcome settle(CallQuery query, long actualCost) {
    SettleOutcome outcome = settle(finder.find(query), actualCost);
    counter(result(outcome)).increment();
    return outcome;
  }

  private SettleOutcome settle(Finding finding, long actualCost) {
    if (finding instanceof Found found) {
      return found.call().allowed() ? record(found, actualCost) : new SettleOutcome.Denied();
    }
    return (SettleOutcome.WithoutCall) finding;
  }

  private SettleOutcome record(Found found, long actualCost) {
    CallEvent call = found.call();
    // begin after the search, because a ticket keeps windows open
    Ticket ticket = log.begin();
    CallSettlement how =
        new CallSettlement(actualCost, ticket.begunAtEpochMillis(), found.position());
    Recorded recorded = log.record(ticket, call.settledAt(how));
    if (!(recorded instanceof Recorded.Durable durable)) {
      return new SettleOutcome.Unavailable(
          "the settlement could not be recorded ("
              + (recorded instanceof Recorded.Refused refused ? refused.reason() : "FULL")
              + ")");
    }
    SettlementVerdict verdict = verdicts.await(durable.position());
    return verdict == null
        ? new SettleOutcome.Pending(call, actualCost, durable.durability(), durable.position())
        : outcome(call, actualCost, verdict);
  }

  private static SettleOutcome outcome(CallEvent call, long actualCost, SettlementVerdict verdict) {
    String reason = verdict.reason();
    if (reason != null) {
      return new SettleOutcome.Refused(reason);
    }
    Standing standing = verdict.standing();
    if (standing == null || standing.actualCost() != actualCost) {
      return new SettleOutcome.SettledBefore(standing == null ? null : standing.actualCost());
    }
    boolean changed =
        verdict.outcome() == SettlementVerdict.Outcome.STANDS && actualCost != call.cost();
    return new SettleOutcome.Settled(
        call, actualCost, changed, Durability.ACKED, standing.position());
  }

  private static Result result(SettleOutcome outcome) {
    if (outcome instanceof SettleOutcome.Settled settled) {
      return settled.changed() ? Result.SETTLED : Result.UNCHANGED;
    }
    if (outcome instanceof SettleOutcome.Pending) {
      return Result.PENDING;
    }
    if (outcome instanceof SettleOutcome.NotFound
        || outcome instanceof SettleOutcome.OnlyDeniedTry) {
      return Result.NOT_FOUND;
    }
    if (outcome instanceof SettleOutcome.Exhausted) {
      return Result.EXHAUSTED;
    }
    return outcome instanceof SettleOutcome.Unavailable ? Result.UNAVAILABLE : Result.CONFLICT;
  }

  /** Returns the counter of the outcomes of a kind. */
  Counter counter(Result result) {
    return Objects.requireNonNull(counters.get(result));
  }
}
