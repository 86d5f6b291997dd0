// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;

/** Finds recorded calls. Thread-safe. A failure is a returned value, never an exception. */
public interface CallFinder extends AutoCloseable {
  /** Searches for a call. Blocks for the duration of the search, which is bounded. */
  Finding find(CallQuery query);

  @Override
  void close();

  /** The result of a search. */
  sealed interface Finding {}

  /**
   * The call is in the log.
   *
   * @param call the call at the given position. Without a position, an allowed call with the id, or
   *     a denied one if the log can contain no allowed one. Never a settlement
   * @param position its position
   */
  record Found(CallEvent call, UsagePosition position) implements Finding {}

  /**
   * No call with the id is in the part of the log that was read. Times are the broker's.
   *
   * @param fromEpochMillis the earliest time from which the log was read completely
   * @param toEpochMillis the time at which the search began
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements Finding {}

  /**
   * The part of the log that was read contains a denied attempt with the id, but no allowed one.
   * The rest of the log may contain an allowed one, so this does not mean that the call was denied.
   * Times are the broker's.
   *
   * @param fromEpochMillis the earliest time from which the log was read completely
   * @param toEpochMillis the time at which the search began
   */
  record OnlyDeniedTry(long fromEpochMillis, long toEpochMillis) implements Finding {}

  /**
   * The client's searches have used up its budget, so this search was not started or not finished.
   *
   * @param retryAfterSeconds time until a search can start, or can get further than this one; at
   *     least 1
   */
  record Exhausted(long retryAfterSeconds) implements Finding {}

  /**
   * The search could not be started or could not be finished.
   *
   * @param detail one sentence that may be shown to the caller
   */
  record Unknown(String detail) implements Finding {}
}
