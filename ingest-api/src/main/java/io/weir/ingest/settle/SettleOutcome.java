// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.gate.Durability;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/** The outcome of a request to settle a call. */
public sealed interface SettleOutcome {

  /**
   * The aggregator has confirmed that the call is billed at the requested cost.
   *
   * @param call the call that was found
   * @param actualCost the billed cost
   * @param changed whether this request changed the bill; false if the call was already billed at
   *     this cost
   * @param durability current durability of the record
   * @param position the position of the settlement; reports that have reached this position include
   *     the settlement
   */
  record Settled(
      CallEvent call,
      long actualCost,
      boolean changed,
      Durability durability,
      UsagePosition position)
      implements SettleOutcome {}

  /**
   * The settlement is recorded, but the aggregator's verdict is not yet known. A repeated request
   * returns the verdict, and does not settle the call again.
   *
   * @param call the call that was found
   * @param actualCost the billed cost if the aggregator accepts this settlement
   * @param durability current durability of the record
   * @param position the position of the settlement; reports that have reached this position include
   *     the settlement
   */
  record Pending(CallEvent call, long actualCost, Durability durability, UsagePosition position)
      implements SettleOutcome {}

  /** The outcome if the search does not return the call. Times are those of the broker's clock. */
  sealed interface WithoutCall extends SettleOutcome, CallFinder.Finding {}

  /**
   * The search read a part of the calls topic, and did not find the call.
   *
   * @param fromEpochMillis start of the period that was read completely
   * @param toEpochMillis end of that period: the time at which the search began
   */
  record NotFound(long fromEpochMillis, long toEpochMillis) implements WithoutCall {}

  /**
   * The search read a part of the calls topic, and found only denied attempts of the call. It is
   * unknown whether another attempt was allowed.
   *
   * @param fromEpochMillis start of the period that was read completely
   * @param toEpochMillis end of that period: the time at which the search began
   */
  record OnlyDeniedTry(long fromEpochMillis, long toEpochMillis) implements WithoutCall {}

  /** The call was denied. Denied calls are not billed and cannot be settled. */
  record Denied() implements SettleOutcome {}

  /**
   * The call is already settled at another cost. The first settlement is final.
   *
   * @param actualCost the cost of the first settlement; null if the aggregator no longer knows it
   */
  record SettledBefore(@Nullable Long actualCost) implements SettleOutcome {}

  /**
   * The aggregator refused the settlement, because the call was never billed or the bill can no
   * longer change.
   *
   * @param reason the reason, as text
   */
  record Refused(String reason) implements SettleOutcome {}

  /**
   * The client's searches have used up the client's read budget, so this search did not start or
   * did not finish.
   *
   * @param retryAfterSeconds time after which a search can start, or can read more than this
   *     search; at least 1
   */
  record Exhausted(long retryAfterSeconds) implements WithoutCall {}

  /**
   * The search failed or could not start, or the settlement could not be recorded.
   *
   * @param detail one sentence that may be shown to the caller
   */
  record Unavailable(String detail) implements WithoutCall {}
}
