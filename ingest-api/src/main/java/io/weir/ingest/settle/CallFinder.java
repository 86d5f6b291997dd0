// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;

/** Finds recorded calls. Safe for threads. A failure is a value, never an exception. */
public interface CallFinder extends AutoCloseable {
  /** Looks for a call; blocks for as long as the search takes, which is bounded. */
  Finding find(CallQuery query);

  @Override
  void close();

  /** What a search came to. */
  sealed interface Finding {}

  /**
   * The call stands in the log.
   *
   * @param call the call at the position that was given; else an allowed call of the id, or a
   *     denied one when no allowed one can stand in the log; never a settlement
   * @param position its place
   */
  record Found(CallEvent call, UsagePosition position) implements Finding {}

  /**
   * It does not stand in the part of the log that was read, by the broker's clock.
   *
   * @param fromEpochMillis the oldest moment from which on everything was read
   * @param toEpochMillis the newest
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
