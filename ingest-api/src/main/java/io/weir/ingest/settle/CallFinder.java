// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;

/** Finds recorded calls. Thread-safe. A failure is a value, never an exception. */
public interface CallFinder extends AutoCloseable {
  /** Searches for a call. Blocks for as long as the search takes, which is bounded. */
  Finding find(CallQuery query);

  @Override
  void close();

  /** The result of a search. */
  sealed interface Finding {}

  /**
   * The call is in the log.
   *
   * @param call the call at the given position; without a position, an allowed call of the id, or a
   *     denied one if no allowed one can be in the log; never a settlement
   * @param position its position
   */
  record Found(CallEvent call, UsagePosition position) implements Finding {}

  /**
   * No call of the id is in the part of the log that was read. Times are the broker's.
   *
   * @param fromEpochMillis the earliest time from which on everything was read
   * @param toEpochMillis the time at which the search began
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements Finding {}

  /**
   * The part of the log that was read holds a denied try of the id, but no allowed one. An allowed
   * one may be in the rest of the log, so this does not mean that the call was denied. Times are
   * the broker's.
   *
   * @param fromEpochMillis the earliest time from which on everything was read
   * @param toEpochMillis the time at which the search began
   */
  record OnlyDeniedTry(long fromEpochMillis, long toEpochMillis) implements Finding {}

  /**
   * The client's searches have read so much of the log that this one was not started or not
   * finished.
   *
   * @param retryAfterSeconds how long until a search can start, or can get further than this one;
   *     at least 1
   */
  record Exhausted(long retryAfterSeconds) implements Finding {}

  /**
   * The search could not be started or not be finished.
   *
   * @param detail one sentence that may be shown to the caller
   */
  record Unknown(String detail) implements Finding {}
}
