// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The log to which decided calls are written so that none is lost. Thread-safe. A failure is a
 * value ({@link Recorded.Refused}), never an exception.
 *
 * <pre>{@code
 * Ticket ticket = log.begin();       // before the decision is asked for
 * ... decide ...
 * Recorded recorded = log.record(ticket, call);
 * }</pre>
 */
public interface CallLog extends AutoCloseable {
  /** Most calls that one ticket may record; as many as a batch of checks may contain. */
  int MAX_CALLS = 1_000;

  /**
   * Marks calls as in progress before they are decided, so that no low watermark overtakes them:
   * until the ticket is used, the node's low watermark does not pass the current time. Never
   * blocks.
   */
  Ticket begin();

  /**
   * Writes the calls, and returns without waiting until they are as durable as the deployment
   * requires. They are kept or refused together.
   *
   * @param ticket obtained before the calls were decided; used up by this method, whatever its
   *     result
   * @param calls at most {@value #MAX_CALLS}
   * @return completed, normally, with one result per call in the same order, by a thread that
   *     writes for all callers: what depends on it must not block
   */
  CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls);

  /**
   * Writes the calls as {@link #submit(Ticket, List)} does, and tells when Kafka has them.
   *
   * @param whenAcked run once when Kafka has acknowledged all of the calls, which may be before the
   *     results are completed, long after, or never; must not block or throw; null for nobody
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

  /** Returns whether a call would be kept now. Cheap, repeatable, thread-safe. */
  Health check();

  /**
   * Refuses further calls, then sends the calls it holds, for at most the configured time. Calls
   * that could not be sent stay in the journal and are sent by the next process that opens it.
   * Blocks; idempotent.
   */
  @Override
  void close();

  /**
   * The health of a call log.
   *
   * @param ok whether calls are kept
   * @param detail the error, or a summary of the backlog
   */
  record Health(boolean ok, String detail) {}
}
