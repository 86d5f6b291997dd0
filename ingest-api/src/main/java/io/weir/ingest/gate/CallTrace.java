// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Receives the steps of a traced call or batch. Every trace has the steps {@link #deciding} and
 * {@link #decided}. For recorded calls, the next steps are {@link #recording}, and {@link
 * #recorded} or {@link #notRecorded}. The thread that reaches a step calls the step's method, at
 * most once. Implementations must not block or throw. An untraced call has no object of this type.
 */
public interface CallTrace {
  /** Called before the gate matches the policies and queries the cache. */
  void deciding();

  /**
   * Called when the calls were decided, shed, or refused because of an invalid API key.
   *
   * @param outcomes one outcome per call, without the result of recording
   */
  void decided(List<CheckOutcome> outcomes);

  /** Called before the gate writes the calls to the log. */
  void recording();

  /**
   * Returns the action that the log runs when Kafka has acknowledged the calls; null for none.
   * Called once, after {@link #recording}. The log keeps the lines of the calls until the action
   * has run.
   *
   * @param calls number of calls to write
   */
  @Nullable Runnable whenAcked(int calls);

  /**
   * Called when the log has written or refused the calls.
   *
   * @param results one result per call
   */
  void recorded(List<Recorded> results);

  /**
   * Called when the gate could not write the calls because of an unexpected exception. No result
   * follows.
   */
  void notRecorded();
}
