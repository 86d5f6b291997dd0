// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/**
 * Represents calls in progress. Until the ticket is used, the node's low watermark does not pass
 * the time at which the ticket was obtained. The holder must use it exactly once, by {@link
 * CallLog#submit} or {@link #abandon}; an unused ticket keeps every window of every report open.
 * Not thread-safe, but may be passed from one thread to another.
 */
public interface Ticket {
  /**
   * Returns when the ticket was obtained, by the decision cache's clock as this node knows it. This
   * is the time of a call that the cache did not decide.
   */
  long begunAtEpochMillis();

  /**
   * Returns the time that the low watermark does not pass. This is the time at which the ticket was
   * obtained, or a later one if the watermark had already passed that time because of a clock step.
   */
  default long heldAtEpochMillis() {
    return begunAtEpochMillis();
  }

  /**
   * Returns another ticket of the same time, for a call whose tokens a lease took then. This ticket
   * must not be used up yet.
   */
  Ticket again();

  /** Uses up the ticket without a record (a peek, an invalid request, a failure). */
  void abandon();
}
