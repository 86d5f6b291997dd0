// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.settle.CallFinder.Exhausted;
import io.weir.ingest.settle.CallFinder.Finding;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.ingest.settle.CallFinder.NotFound;
import io.weir.ingest.settle.CallFinder.OnlyDeniedTry;
import io.weir.ingest.settle.CallFinder.Unknown;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Standing;

/**
 * Settles calls: finds a call, records its actual cost, and waits for the aggregator's verdict. The
 * aggregator decides, because it knows which calls it billed and which settlement of a call came
 * first. If the call is not found, records no settlement. Thread-safe.
 */
public final class Settler {
  private final CallFinder finder;
  private final CallLog log;
  private final Verdicts verdicts;
  private final SettleStatistics statistics;

  public Settler(CallFinder finder, CallLog log, Verdicts verdicts, MeterRegistry registry) {
    this.finder = finder;
    this.log = log;
    this.verdicts = verdicts;
    this.statistics = new SettleStatistics(registry);
  }

  /** Returns the counts of outcomes. */
  SettleStatistics statistics() {
    return statistics;
  }

  /**
   * Settles a call.
   *
   * @param actualCost the cost at which to bill the call, 0 to {@link CallEvent#MAX_QUANTITY}
   */
  public SettleOutcome settle(CallQuery query, long actualCost) {
    SettleOutcome outcome = settle(finder.find(query), actualCost);
    statistics.count(outcome);
    return outcome;
  }

  private SettleOutcome settle(Finding finding, long actualCost) {
    if (finding instanceof Found found) {
      return found.call().allowed() ? record(found, actualCost) : new SettleOutcome.Denied();
    }
    if (finding instanceof NotFound not) {
      return new SettleOutcome.NotFound(not.fromEpochMillis(), not.toEpochMillis());
    }
    if (finding instanceof OnlyDeniedTry only) {
      return new SettleOutcome.OnlyDeniedTry(only.fromEpochMillis(), only.toEpochMillis());
    }
    return finding instanceof Exhausted exhausted
        ? new SettleOutcome.Exhausted(exhausted.retryAfterSeconds())
        : new SettleOutcome.Unavailable(((Unknown) finding).detail());
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
}
