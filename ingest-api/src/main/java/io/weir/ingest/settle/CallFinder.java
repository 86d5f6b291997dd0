// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

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
   * @param call an allowed call of that id if there is one, else a denied one
   * @param settlement the oldest settlement of it among what was read; null when none was
   */
  record Found(Placed call, @Nullable Placed settlement) implements Finding {}

  /**
   * It does not stand in the part of the log that was read, by the broker's clock.
   *
   * @param fromEpochMillis the oldest moment that was looked at
   * @param toEpochMillis the newest
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements Finding {}

  /**
   * The search could not be made, or not be finished.
   *
   * @param detail one sentence that the caller may read
   */
  record Unknown(String detail) implements Finding {}

  /**
   * A line of the log.
   *
   * @param line the call, or the settlement
   * @param position its place
   */
  record Placed(CallEvent line, UsagePosition position) {}
}
