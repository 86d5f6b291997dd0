// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.settle.CallFinder.Finding;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.ingest.settle.CallFinder.Placed;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Settlement;

/**
 * Settles calls: finds the call, then records what it turned out to cost. Nothing is recorded of a
 * call that was not found. Safe for threads.
 *
 * <p>A call is settled once, at what the log says first. Two requests that do not see each other in
 * the log are both recorded; the counting takes the first of them.
 */
public final class Settler {
  private final CallFinder finder;
  private final CallLog log;
  private final SettleStatistics statistics = new SettleStatistics();

  public Settler(CallFinder finder, CallLog log) {
    this.finder = finder;
    this.log = log;
  }

  /** What was asked for and what became of it. */
  public SettleStatistics statistics() {
    return statistics;
  }

  /**
   * Settles a call.
   *
   * @param actualCost what it is to be billed at, 0 to {@link CallEvent#MAX_QUANTITY}
   */
  public SettleOutcome settle(CallQuery query, long actualCost) {
    Finding finding = finder.find(query);
    SettleOutcome outcome;
    if (finding instanceof Found found) {
      outcome = settle(found, actualCost);
    } else if (finding instanceof CallFinder.NotFound not) {
      outcome = new SettleOutcome.NotFound(not.fromEpochMillis(), not.toEpochMillis());
    } else {
      outcome = new SettleOutcome.Unavailable(((CallFinder.Unknown) finding).detail());
    }
    statistics.count(outcome);
    return outcome;
  }

  private SettleOutcome settle(Found found, long actualCost) {
    CallEvent call = found.call().line();
    if (!call.allowed()) {
      return new SettleOutcome.Denied();
    }
    Placed before = found.settlement();
    Settlement earlier = before == null ? null : before.line().settlement();
    if (before != null && earlier != null) {
      return earlier.actualCost() == actualCost
          ? unchanged(before, actualCost)
          : new SettleOutcome.SettledBefore(earlier.actualCost());
    }
    return call.cost() == actualCost
        ? unchanged(found.call(), actualCost)
        : record(call, actualCost);
  }

  private static SettleOutcome unchanged(Placed said, long actualCost) {
    return new SettleOutcome.Settled(
        said.line(), actualCost, false, Durability.ACKED, said.position());
  }

  private SettleOutcome record(CallEvent call, long actualCost) {
    // drawn when the search is over: a ticket holds the windows of all reports open
    Ticket ticket = log.begin();
    CallEvent settlement = call.settledAt(new Settlement(actualCost, ticket.begunAtEpochMillis()));
    Recorded recorded = log.record(ticket, settlement);
    if (recorded instanceof Recorded.Durable durable) {
      return new SettleOutcome.Settled(
          call, actualCost, true, durable.durability(), durable.position());
    }
    return new SettleOutcome.Unavailable(
        "the settlement could not be recorded ("
            + (recorded instanceof Recorded.Refused refused ? refused.reason() : "FULL")
            + ")");
  }
}
