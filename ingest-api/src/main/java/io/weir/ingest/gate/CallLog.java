// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The log of decided calls. The log loses no call that it has accepted. A failure is a returned
 * value ({@link Recorded.Refused}), never an exception. Thread-safe.
 *
 * <pre>{@code
 * Ticket ticket = log.begin();       // before the cache is queried
 * ... decide ...
 * Recorded recorded = log.record(ticket, call);
 * }</pre>
 */
public interface CallLog extends AutoCloseable {
  /**
   * Maximum number of calls that one ticket may record. A batch has at most this number of calls.
   */
  int MAX_CALLS = 1_000;

  /** Returns the current time, by this node's estimate of the decision cache's clock. */
  long nowEpochMillis();

  /**
   * Marks calls as in progress before they are decided. Until the ticket is used, the node's low
   * watermark does not pass the time at which this method was called. Never blocks.
   */
  Ticket begin();

  /**
   * Writes the calls, and returns without waiting. The log accepts either all calls or no call.
   *
   * @param ticket a ticket obtained before the calls were decided; this method always uses the
   *     ticket up
   * @param calls at most {@value #MAX_CALLS}
   * @return completes normally with one result per call in the same order, when the calls have the
   *     durability that {@code WEIR_DURABILITY} requires. Dependent actions must not block, because
   *     they run on the thread that writes for all callers
   */
  CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls);

  /**
   * Writes the calls like {@link #submit(Ticket, List)}, and runs an action when Kafka has
   * acknowledged them.
   *
   * @param whenAcked the action, which runs at most once and must not block or throw; null for no
   *     action. The action may run before the results are complete, or long afterwards
   */
  default CompletableFuture<List<Recorded>> submit(
      Ticket ticket, List<CallEvent> calls, @Nullable Runnable whenAcked) {
    return submit(ticket, calls);
  }

  /** Writes the calls like {@link #submit(Ticket, List)}, and waits for the results. */
  default List<Recorded> record(Ticket ticket, List<CallEvent> calls) {
    return submit(ticket, calls).join();
  }

  /** Writes one call; see {@link #record(Ticket, List)}. */
  default Recorded record(Ticket ticket, CallEvent call) {
    return record(ticket, List.of(call)).get(0);
  }

  /** Returns whether the log would accept a call now. Cheap. */
  Health check();

  /**
   * Refuses further calls, and waits at most the configured time until the pending calls are sent.
   * Unsent calls stay in the journal; the next process that opens the journal sends these calls.
   * Blocks. Idempotent.
   */
  @Override
  void close();

  /**
   * The health of a call log.
   *
   * @param ok whether the log accepts calls
   * @param detail the error, or a summary of the backlog
   */
  record Health(boolean ok, String detail) {}
}
