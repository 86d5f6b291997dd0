// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.concurrent.Executor;

/**
 * The threads and callbacks that a {@link CallRecorder} needs.
 *
 * @param opener opens producers, which may take seconds
 * @param wakeUp requests a pass without delay; called on any thread
 * @param writer runs one write of the journal at a time
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

  /** Returns threads that run everything on the calling thread; exceptions are thrown again. */
  static RecorderThreads none() {
    return new RecorderThreads(Runnable::run, () -> {}, Runnable::run, RecorderThreads::rethrow);
  }

  /** Returns the same threads, with faults also counted. */
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
