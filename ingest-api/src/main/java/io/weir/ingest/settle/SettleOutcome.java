// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.gate.Durability;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;

/** What became of a call that was to be settled. */
public sealed interface SettleOutcome {

  /**
   * The call is settled at the cost asked for.
   *
   * @param call the call that was found
   * @param actualCost what it is billed at
   * @param changed whether this request recorded it; false when it stood so already
   * @param durability how safe the record is now
   * @param position the place a report must have reached to include it
   */
  record Settled(
      CallEvent call,
      long actualCost,
      boolean changed,
      Durability durability,
      UsagePosition position)
      implements SettleOutcome {}

  /**
   * No such call stands in the part of the log that was read.
   *
   * @param fromEpochMillis the oldest moment that was looked at
   * @param toEpochMillis the newest
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements SettleOutcome {}

  /** The call was denied: it is not billed, so that there is nothing to settle. */
  record Denied() implements SettleOutcome {}

  /** The call was settled before, at another cost, which stands. */
  record SettledBefore(long actualCost) implements SettleOutcome {}

  /**
   * It cannot be done now.
   *
   * @param detail one sentence that the caller may read
   */
  record Unavailable(String detail) implements SettleOutcome {}
}
