// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Is told how a traced call, or the calls of a traced batch, go from step to step: {@link
 * #deciding}, {@link #decided}, and for calls that are recorded {@link #recording} and {@link
 * #recorded}, or {@link #notRecorded}. Each is called once at most, in this order, by whichever
 * thread has come to that step; none blocks or throws. A call that is not traced has no object of
 * this kind at all.
 */
public interface CallTrace {
  /** The policies are about to be matched, and the cache is asked. */
  void deciding();

  /**
   * The calls are decided, shed, or refused since nobody has their API keys.
   *
   * @param outcomes one for each call, without the result of recording it
   */
  void decided(List<CheckOutcome> outcomes);

  /** The calls are about to be written to the log. */
  void recording();

  /**
   * Returns what the log shall run when Kafka has acknowledged the calls; null if nobody wants to
   * know. Called once, after {@link #recording}. Until then the log holds the lines of the calls.
   *
   * @param calls how many calls are written
   */
  @Nullable Runnable whenAcked(int calls);

  /**
   * The log has written the calls, or has refused them.
   *
   * @param results one for each call
   */
  void recorded(List<Recorded> results);

  /** The calls could not be written by a fault of this process; nothing is awaited for them. */
  void notRecorded();
}
