// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/**
 * Represents calls that are in progress: until the ticket is used, the node's low watermark does
 * not pass the time at which it was obtained. Must be used exactly once, by {@link CallLog#submit}
 * or by {@link #abandon}; a ticket that is never used holds every window of every report open. Not
 * thread-safe, but may be passed from one thread to another.
 */
public interface Ticket {
  /**
   * Returns when the ticket was obtained, by the decision cache's clock as far as this node knows
   * it. It is the time of a call that the cache did not decide.
   */
  long begunAtEpochMillis();

  /**
   * Returns the time that the low watermark does not pass: that at which the ticket was obtained,
   * or a later one if the watermark had passed that already, since the clock was ahead once.
   */
  default long heldAtEpochMillis() {
    return begunAtEpochMillis();
  }

  /**
   * Returns another ticket of the same time, for a call that is dated by then: a lease has taken
   * its tokens. This ticket must not be used up yet.
   */
  Ticket again();

  /** Uses up the ticket without a record (a peek, a bad request, a failure). */
  void abandon();
}
