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
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;

/**
 * Settles calls: finds the call, records its actual cost, and waits for the aggregator's verdict.
 * The aggregator decides, because it knows which calls it billed and which settlement of a call
 * came first. Records nothing for a call that was not found. Thread-safe.
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

  /**
   * A call of this node to be settled, for which no search is needed.
   *
   * @param call the allowed call, as recorded
   * @param position the position at which it was recorded
   * @param actualCost the cost at which to bill it, 0 to {@link CallEvent#MAX_QUANTITY}
   */
  public record KnownCall(CallEvent call, UsagePosition position, long actualCost) {}

  /** Returns the counts of outcomes. */
  SettleStatistics statistics() {
    return statistics;
  }

  /**
   * Settles a call.
   *
   * @param actualCost the cost at which to bill it, 0 to {@link CallEvent#MAX_QUANTITY}
   */
  public SettleOutcome settle(CallQuery query, long actualCost) {
    SettleOutcome outcome = settle(finder.find(query), actualCost);
    statistics.count(outcome);
    return outcome;
  }

  /**
   * Records settlements of calls that need no search, and returns without waiting. The aggregator
   * treats them like those of {@link #settle}: for each call the first settlement counts.
   *
   * @param calls at most {@value CallLog#MAX_CALLS}
   * @param onVerdict receives each call and the aggregator's verdict on it, on a thread that must
   *     not be blocked. Not called for a call that was not recorded, nor if the verdict does not
   *     arrive
   * @return completes with one result per call in the same order, on a thread that must not be
   *     blocked; the log accepts or refuses the settlements together
   */
  public CompletableFuture<List<Recorded>> submit(
      List<KnownCall> calls, BiConsumer<KnownCall, SettlementVerdict> onVerdict) {
    Ticket ticket = log.begin();
    List<CallEvent> lines = new ArrayList<>(calls.size());
    try {
      for (KnownCall each : calls) {
        lines.add(
            each.call()
                .settledAt(
                    new CallSettlement(
                        each.actualCost(), ticket.begunAtEpochMillis(), each.position())));
      }
    } catch (RuntimeException | Error failed) {
      ticket.abandon();
      throw failed;
    }
    return log.submit(ticket, lines)
        .thenApply(
            results -> {
              for (int i = 0; i < results.size(); i++) {
                KnownCall call = calls.get(i);
                if (results.get(i) instanceof Recorded.Durable durable) {
                  verdicts.onVerdict(
                      durable.position(), verdict -> onVerdict.accept(call, verdict));
                }
              }
              return results;
            });
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
    // obtained after the search, because a ticket keeps the windows of all reports open
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
