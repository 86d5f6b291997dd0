// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/**
 * A ticket for calls in progress. Until the ticket is used, the node's low watermark does not pass
 * the time at which the ticket was obtained. The holder must use the ticket exactly once, by {@link
 * CallLog#submit} or {@link #abandon}. An unused ticket keeps windows open. Not thread-safe, but
 * may be passed from one thread to another.
 */
public interface Ticket {
  /**
   * Returns the time at which the ticket was obtained, by this node's estimate of the cache's
   * clock. A call that the cache did not decide gets this time.
   */
  long begunAtEpochMillis();

  /**
   * Returns the time that the low watermark does not pass. Normally the result is the time at which
   * the ticket was obtained. After the clock stepped back, the result is the time that the process
   * had reached before the step. After a restart, batches from the journal may carry a low
   * watermark later than the result.
   */
  default long heldAtEpochMillis() {
    return begunAtEpochMillis();
  }

  /**
   * Returns another ticket with the same time, for a call of a lease. This ticket must not have
   * been used.
   */
  Ticket again();

  /** Uses up the ticket without a record, for example after an invalid request or a failure. */
  void abandon();
}
