// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.concurrent.Executor;

/**
 * The threads and callbacks that a {@link CallRecorder} needs.
 *
 * @param opener opens producers; an opening may take seconds
 * @param wakeUp wakes the recording thread for an immediate pass; may be called on any thread
 * @param writer runs the writes of the journal, one at a time
 * @param faults receives unexpected exceptions after the failed part has recovered
 */
record RecorderThreads(Executor opener, Runnable wakeUp, Executor writer, FaultHandler faults) {

  /** Receives unexpected exceptions, on any thread. */
  interface FaultHandler {
    /**
     * Handles an exception.
     *
     * @param part the part of the recorder that failed
     */
    void handle(String part, Throwable fault);
  }

  /** Returns threads that run all work on the calling thread and rethrow exceptions. */
  static RecorderThreads none() {
    return new RecorderThreads(Runnable::run, () -> {}, Runnable::run, RecorderThreads::rethrow);
  }

  /**
   * Returns the same threads with a fault handler that also runs {@code counter} for each
   * exception.
   */
  RecorderThreads countingFaults(Runnable counter) {
    return new RecorderThreads(
        opener,
        wakeUp,
        writer,
        (part, fault) -> {
          counter.run();
          faults.handle(part, fault);
        });
  }

  private static void rethrow(String part, Throwable fault) {
    if (fault instanceof RuntimeException unchecked) {
      throw unchecked;
    }
    if (fault instanceof Error error) {
      throw error;
    }
    throw new IllegalStateException(part, fault);
  }
}
