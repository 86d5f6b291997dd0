// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Receives the steps of a traced call, or of a traced batch: {@link #deciding}, {@link #decided},
 * then {@link #recording} and {@link #recorded}, or {@link #notRecorded}, for calls that are
 * recorded. Each method is called at most once, in this order, by the thread that reached the step.
 * No method may block or throw. An untraced call has no object of this type.
 */
public interface CallTrace {
  /** The gate is about to match the policies and to query the cache. */
  void deciding();

  /**
   * The calls are decided, shed, or refused because their API keys are invalid.
   *
   * @param outcomes one for each call, without the result of recording
   */
  void decided(List<CheckOutcome> outcomes);

  /** The calls are about to be written to the log. */
  void recording();

  /**
   * Returns the action that the log runs when Kafka has acknowledged the calls; null for none.
   * Called once, after {@link #recording}. Until then the log keeps the lines of the calls.
   *
   * @param calls number of calls that are written
   */
  @Nullable Runnable whenAcked(int calls);

  /**
   * The log has written the calls, or has refused them.
   *
   * @param results one for each call
   */
  void recorded(List<Recorded> results);

  /** A fault of this process prevented writing the calls; no result follows. */
  void notRecorded();
}
