// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Records decided calls, and adds each result to the outcome of its call. If the log refuses the
 * record of a call, the call is not allowed. Thread-safe.
 */
final class OutcomeRecorder {
  private final CallLog log;
  private final Slots slots;
  private final GateStatistics statistics;

  OutcomeRecorder(CallLog log, Slots slots, GateStatistics statistics) {
    this.log = log;
    this.slots = slots;
    this.statistics = statistics;
  }

  /**
   * Records a call if it was decided, and uses up the ticket. Blocks no thread.
   *
   * @return completes with the final outcome
   */
  CompletableFuture<CheckOutcome> record(
      Ticket ticket, CheckOutcome outcome, @Nullable CallTrace trace) {
    if (outcome instanceof CheckOutcome.Decided decided) {
      return write(ticket, List.of(decided.call()), trace)
          .thenApply(recorded -> withRecord(decided, recorded.get(0)));
    }
    ticket.abandon();
    return CompletableFuture.completedFuture(outcome);
  }

  /**
   * Records the decided calls of a batch together, and uses up the ticket. Blocks until the log has
   * accepted or refused these calls.
   *
   * @return the final outcomes, in the same order
   */
  List<CheckOutcome> record(Ticket ticket, List<CheckOutcome> outcomes, @Nullable CallTrace trace) {
    List<CallEvent> calls = new ArrayList<>(outcomes.size());
    for (CheckOutcome outcome : outcomes) {
      if (outcome instanceof CheckOutcome.Decided decided) {
        calls.add(decided.call());
      }
    }
    if (calls.isEmpty()) {
      ticket.abandon();
      return outcomes;
    }
    List<Recorded> records = write(ticket, calls, trace).join();
    List<CheckOutcome> recorded = new ArrayList<>(outcomes.size());
    int next = 0;
    for (CheckOutcome outcome : outcomes) {
      recorded.add(
          outcome instanceof CheckOutcome.Decided decided
              ? withRecord(decided, records.get(next++))
              : outcome);
    }
    return recorded;
  }

  /** Writes calls to the log, and reports the steps to the trace if there is one. */
  private CompletableFuture<List<Recorded>> write(
      Ticket ticket, List<CallEvent> calls, @Nullable CallTrace trace) {
    if (trace == null) {
      return log.submit(ticket, calls);
    }
    trace.recording();
    try {
      return log.submit(ticket, calls, trace.whenAcked(calls.size()))
          .whenComplete(
              (results, failed) -> {
                if (failed == null) {
                  trace.recorded(results);
                } else {
                  trace.notRecorded();
                }
              });
    } catch (RuntimeException | Error failed) {
      trace.notRecorded();
      throw failed;
    }
  }

  private CheckOutcome withRecord(CheckOutcome.Decided decided, Recorded recorded) {
    if (recorded instanceof Recorded.Refused refused) {
      statistics.notKept.increment();
      HeldSlots held = decided.slots();
      if (held != null) {
        slots.giveUp(held);
      }
      return new CheckOutcome.NotKept(refused);
    }
    statistics.count(decided.call());
    return decided.with(recorded);
  }
}
