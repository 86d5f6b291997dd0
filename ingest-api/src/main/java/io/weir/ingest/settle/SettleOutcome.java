// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.gate.Durability;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/** What became of a call that was to be settled. */
public sealed interface SettleOutcome {

  /**
   * The call is billed at the cost asked for: so the counting said.
   *
   * @param call the call that was found
   * @param actualCost what it is billed at
   * @param changed whether this request changed the bill; false when it stood so already
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
   * The settlement is recorded, and what the counting does with it is not known yet. To be asked
   * again, which tells it and records nothing that counts.
   *
   * @param call the call that was found
   * @param actualCost what it is billed at if this settlement stands
   * @param durability how safe the record is now
   * @param position the place a report must have reached to include it
   */
  record Pending(CallEvent call, long actualCost, Durability durability, UsagePosition position)
      implements SettleOutcome {}

  /**
   * No such call stands in the part of the log that was read.
   *
   * @param fromEpochMillis the oldest moment that was looked at
   * @param toEpochMillis the newest
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements SettleOutcome {}

  /**
   * Only a denied try of the call stands in the part of the log that was read; whether it was
   * allowed another time is not known.
   *
   * @param fromEpochMillis the oldest moment that was looked at
   * @param toEpochMillis the newest
   */
  record OnlyDeniedTry(long fromEpochMillis, long toEpochMillis) implements SettleOutcome {}

  /** The call was denied: it is not billed, so that there is nothing to settle. */
  record Denied() implements SettleOutcome {}

  /**
   * The call was settled before, at another cost, which stands.
   *
   * @param actualCost that cost; null when the counting does not know it any more
   */
  record SettledBefore(@Nullable Long actualCost) implements SettleOutcome {}

  /**
   * The counting refused the settlement: the call was never billed, or the bill cannot take it.
   *
   * @param reason why, in words
   */
  record Refused(String reason) implements SettleOutcome {}

  /**
   * The client's searches have read so much of the log that it must wait.
   *
   * @param retryAfterSeconds how long, at least 1
   */
  record Exhausted(long retryAfterSeconds) implements SettleOutcome {}

  /**
   * It cannot be done now.
   *
   * @param detail one sentence that the caller may read
   */
  record Unavailable(String detail) implements SettleOutcome {}
}
