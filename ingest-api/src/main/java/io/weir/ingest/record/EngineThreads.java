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
 */
public record EngineThreads(Executor opener, Runnable wake, Runnable giveWay) {
  /** All on the caller's thread, which takes the turns, too. */
  public static EngineThreads none() {
    return new EngineThreads(Runnable::run, () -> {}, () -> {});
  }
}
