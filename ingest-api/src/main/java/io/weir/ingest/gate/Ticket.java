// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/**
 * Stands for calls that are under way: until it is used, the node promises nothing about calls
 * decided after it was drawn. Must be used exactly once, by {@link CallLog#record} or by {@link
 * #abandon}; one that is forgotten holds every window of every report open. Not safe for threads,
 * but may be handed from one to another.
 */
public interface Ticket {
  /**
   * When the ticket was drawn, by the decision cache's clock as far as this node knows it. It is
   * the time to stamp on a call that the cache did not decide.
   */
  long begunAtEpochMillis();

  /** Gives the ticket back, since there is nothing to record (a peek, a bad request, a failure). */
  void abandon();
}
