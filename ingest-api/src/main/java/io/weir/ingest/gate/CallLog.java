// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The log of decided calls; it loses no call that it accepted. Thread-safe. A failure is a returned
 * value ({@link Recorded.Refused}), never an exception.
 *
 * <pre>{@code
 * Ticket ticket = log.begin();       // before the cache is queried
 * ... decide ...
 * Recorded recorded = log.record(ticket, call);
 * }</pre>
 */
public interface CallLog extends AutoCloseable {
  /** Maximum number of calls that one ticket may record; equals the maximum size of a batch. */
  int MAX_CALLS = 1_000;

  /** Returns the current time, by this node's estimate of the decision cache's clock. */
  long nowEpochMillis();

  /**
   * Marks calls as in progress before they are decided. Until the ticket is used, the node's low
   * watermark does not pass the current time. Never blocks.
   */
  Ticket begin();

  /**
   * Writes the calls and returns without waiting until they are as durable as the deployment
   * requires. The log accepts or refuses the calls together.
   *
   * @param ticket obtained before the calls were decided; this method uses it up, whatever the
   *     result
   * @param calls at most {@value #MAX_CALLS}
   * @return completes normally with one result per call in the same order. The thread that
   *     completes it writes for all callers, so dependent actions must not block
   */
  CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls);

  /**
   * Writes the calls as {@link #submit(Ticket, List)} does, and reports when Kafka has them.
   *
   * @param whenAcked runs once when Kafka has acknowledged all calls. That may be before the
   *     results complete, long after, or never. Must not block or throw; null for no action
   */
  default CompletableFuture<List<Recorded>> submit(
      Ticket ticket, List<CallEvent> calls, @Nullable Runnable whenAcked) {
    return submit(ticket, calls);
  }

  /** Writes the calls as {@link #submit(Ticket, List)} does, and waits for the results. */
  default List<Recorded> record(Ticket ticket, List<CallEvent> calls) {
    return submit(ticket, calls).join();
  }

  /** Writes one call; see {@link #record(Ticket, List)}. */
  default Recorded record(Ticket ticket, CallEvent call) {
    return record(ticket, List.of(call)).get(0);
  }

  /** Returns whether the log would accept a call now. Cheap, repeatable, thread-safe. */
  Health check();

  /**
   * Refuses further calls, then sends the pending calls for at most the configured time. Unsent
   * calls stay in the journal; the next process that opens the journal sends them. Blocks;
   * idempotent.
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
