// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.gate.Durability;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/** The outcome of a request to settle a call. */
public sealed interface SettleOutcome {

  /**
   * The call is billed at the requested cost, as the aggregator has confirmed.
   *
   * @param call the call that was found
   * @param actualCost the cost at which it is billed
   * @param changed whether this request changed the bill; false if the call was already billed so
   * @param durability how durable the record is now
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
   * The settlement is recorded, but the aggregator's verdict is not known yet. Repeating the
   * request returns the verdict and does not settle the call again.
   *
   * @param call the call that was found
   * @param actualCost the cost at which it is billed if this settlement stands
   * @param durability how durable the record is now
   * @param position the position that a report must have reached to include it
   */
  record Pending(CallEvent call, long actualCost, Durability durability, UsagePosition position)
      implements SettleOutcome {}

  /**
   * No such call is in the part of the log that was read.
   *
   * @param fromEpochMillis the earliest time from which on everything was read
   * @param toEpochMillis the time at which the search began
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements SettleOutcome {}

  /**
   * Only a denied try of the call is in the part of the log that was read; whether another try was
   * allowed is not known.
   *
   * @param fromEpochMillis the earliest time from which on everything was read
   * @param toEpochMillis the time at which the search began
   */
  record OnlyDeniedTry(long fromEpochMillis, long toEpochMillis) implements SettleOutcome {}

  /** The call was denied. A denied call is not billed, so there is nothing to settle. */
  record Denied() implements SettleOutcome {}

  /**
   * The call was settled before at another cost, which stands.
   *
   * @param actualCost that cost; null if the aggregator no longer knows it
   */
  record SettledBefore(@Nullable Long actualCost) implements SettleOutcome {}

  /**
   * The aggregator refused the settlement: the call was never billed, or the bill cannot accept it.
   *
   * @param reason why, in words
   */
  record Refused(String reason) implements SettleOutcome {}

  /**
   * The client's searches have read so much of the log that it must wait.
   *
   * @param retryAfterSeconds how long to wait, at least 1
   */
  record Exhausted(long retryAfterSeconds) implements SettleOutcome {}

  /**
   * The settlement cannot be made now.
   *
   * @param detail one sentence that may be shown to the caller
   */
  record Unavailable(String detail) implements SettleOutcome {}
}
