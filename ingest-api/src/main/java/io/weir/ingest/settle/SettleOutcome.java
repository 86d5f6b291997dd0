// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.gate.Durability;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/** The outcome of a request to settle a call. */
public sealed interface SettleOutcome {

  /**
   * The call is billed at the requested cost; the aggregator has confirmed it.
   *
   * @param call the call that was found
   * @param actualCost the billed cost
   * @param changed whether this request changed the bill; false if the call was already billed so
   * @param durability current durability of the record
   * @param position the position that a report must have reached to include it
   */
  record Settled(
      CallEvent call,
      long actualCost,
      boolean changed,
      Durability durability,
      UsagePosition position)
      implements SettleOutcome {}

  /**
   * The settlement is recorded, but the aggregator's verdict is not yet known. Repeating the
   * request returns the verdict and does not settle the call again.
   *
   * @param call the call that was found
   * @param actualCost the billed cost if the aggregator accepts this settlement
   * @param durability current durability of the record
   * @param position the position that a report must have reached to include it
   */
  record Pending(CallEvent call, long actualCost, Durability durability, UsagePosition position)
      implements SettleOutcome {}

  /**
   * No such call is in the part of the log that was read.
   *
   * @param fromEpochMillis the earliest time from which the log was read completely
   * @param toEpochMillis the time at which the search began
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements SettleOutcome {}

  /**
   * Only a denied attempt of the call is in the part of the log that was read; it is unknown
   * whether another attempt was allowed.
   *
   * @param fromEpochMillis the earliest time from which the log was read completely
   * @param toEpochMillis the time at which the search began
   */
  record OnlyDeniedTry(long fromEpochMillis, long toEpochMillis) implements SettleOutcome {}

  /** The call was denied. A denied call is not billed, so there is nothing to settle. */
  record Denied() implements SettleOutcome {}

  /**
   * The call is already settled at another cost; the first settlement stands.
   *
   * @param actualCost that cost; null if the aggregator no longer knows it
   */
  record SettledBefore(@Nullable Long actualCost) implements SettleOutcome {}

  /**
   * The aggregator refused the settlement: the call was never billed, or the bill cannot accept it.
   *
   * @param reason the reason, as text
   */
  record Refused(String reason) implements SettleOutcome {}

  /**
   * The client's searches have used up its budget, so it must wait.
   *
   * @param retryAfterSeconds time to wait, at least 1
   */
  record Exhausted(long retryAfterSeconds) implements SettleOutcome {}

  /**
   * The settlement cannot be made now.
   *
   * @param detail one sentence that may be shown to the caller
   */
  record Unavailable(String detail) implements SettleOutcome {}
}
