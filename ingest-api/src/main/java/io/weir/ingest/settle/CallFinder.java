// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;

/**
 * Finds recorded calls in the calls topic. A failure is a returned value, never an exception.
 * Thread-safe.
 */
public interface CallFinder extends AutoCloseable {
  /** Searches for a call. Blocks for the duration of the search, which is bounded. */
  Finding find(CallQuery query);

  @Override
  void close();

  /** The result of a search. */
  sealed interface Finding {}

  /**
   * The search found the call in the topic.
   *
   * @param call the call at the position of the query. If the query has no position: an allowed
   *     call with the id, or a denied call if the topic contains no allowed call. Never a
   *     settlement
   * @param position the position of the call
   */
  record Found(CallEvent call, UsagePosition position) implements Finding {}

  /**
   * The search read a part of the topic, and found no call with the id. Times are those of the
   * broker's clock.
   *
   * @param fromEpochMillis start of the period that was read completely
   * @param toEpochMillis end of that period: the time at which the search began
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements Finding {}

  /**
   * The search read a part of the topic, and found only denied attempts with the id. The rest of
   * the topic may contain an allowed attempt. Times are those of the broker's clock.
   *
   * @param fromEpochMillis start of the period that was read completely
   * @param toEpochMillis end of that period: the time at which the search began
   */
  record OnlyDeniedTry(long fromEpochMillis, long toEpochMillis) implements Finding {}

  /**
   * The client's searches have used up the client's read budget, so this search did not start or
   * did not finish.
   *
   * @param retryAfterSeconds time after which a search can start, or can read more than this
   *     search; at least 1
   */
  record Exhausted(long retryAfterSeconds) implements Finding {}

  /**
   * The search failed, or could not start.
   *
   * @param detail one sentence that may be shown to the caller
   */
  record Unknown(String detail) implements Finding {}
}
