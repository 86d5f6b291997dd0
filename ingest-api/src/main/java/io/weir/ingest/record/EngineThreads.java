// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.concurrent.Executor;

/**
 * What a {@link RecordingEngine} asks of the threads around it.
 *
 * @param opener runs the opening of an outlet, which may take long
 * @param wake called, on any thread, when a turn should not wait
 * @param giveWay called by a caller that brings lines, so that others may bring theirs into the
 *     same write; about speed only
 * @param faults takes exceptions that nothing expected, when the part has put itself right
 */
public record EngineThreads(Executor opener, Runnable wake, Runnable giveWay, FaultHandler faults) {

  /** Takes exceptions that nothing expected; on any thread. */
  public interface FaultHandler {
    /**
     * Takes one.
     *
     * @param part which part of the engine failed
     */
    void take(String part, Throwable fault);
  }

  /** All on the caller's thread, which takes the turns, and the exceptions, too. */
  public static EngineThreads none() {
    return new EngineThreads(Runnable::run, () -> {}, () -> {}, EngineThreads::rethrow);
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
