// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.List;

/**
 * Where decided calls are written so that none is lost. Safe for threads. A failure is a value
 * ({@link Recorded.Refused}), never an exception.
 *
 * <pre>{@code
 * Ticket ticket = log.begin();       // before the decision is asked for
 * ... decide ...
 * Recorded recorded = log.record(ticket, call);
 * }</pre>
 */
public interface CallLog extends AutoCloseable {
  /** Most calls one ticket may record; as many as a batch of checks may have. */
  int MAX_CALLS = 1_000;

  /**
   * Marks calls as under way before they are decided, so that no promise overtakes them: from now
   * on the node does not promise to have sent all calls decided before any time after now. Never
   * blocks.
   */
  Ticket begin();

  /**
   * Writes the calls and blocks until they are as durable as the deployment asks. They are kept or
   * refused together.
   *
   * @param ticket drawn before the calls were decided; used up by this call, whatever its result
   * @param calls at most {@value #MAX_CALLS}
   * @return one result a call, in order
   */
  List<Recorded> record(Ticket ticket, List<CallEvent> calls);

  /** Writes one call; see {@link #record(Ticket, List)}. */
  default Recorded record(Ticket ticket, CallEvent call) {
    return record(ticket, List.of(call)).get(0);
  }

  /** Whether a call would be kept now. Cheap, repeatable, safe for threads. */
  Health check();

  /**
   * Refuses further calls, then sends what is held, within the deployment's patience. What could
   * not be sent stays in the journal and is sent by the next process over it. Blocks; repeating it
   * does nothing.
   */
  @Override
  void close();

  /**
   * A call log's health.
   *
   * @param ok whether calls are kept
   * @param detail the error, or a word on the backlog
   */
  record Health(boolean ok, String detail) {}
}
