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
   * The call is not in the part of the log that was read, by the broker's clock.
   *
   * @param fromEpochMillis the earliest time from which everything was read
   * @param toEpochMillis the latest such time
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements Finding {}

  /**
   * A denied try of the id stands in the part of the log that was read, and no allowed one. One may
   * stand in the rest, so that this does not say that the call was denied.
   *
   * @param fromEpochMillis the oldest moment from which on everything was read, by the broker's
   *     clock
   * @param toEpochMillis the newest
   */
  record OnlyDeniedTry(long fromEpochMillis, long toEpochMillis) implements Finding {}

  /**
   * The client's searches have read so much of the log that this one was not begun, or not
   * finished.
   *
   * @param retryAfterSeconds when a search can be made, or go further than this one; at least 1
   */
  record Exhausted(long retryAfterSeconds) implements Finding {}

  /**
   * The search could not be made, or not be finished.
   *
   * @param detail one sentence that the caller may read
   */
  record Unknown(String detail) implements Finding {}
}
