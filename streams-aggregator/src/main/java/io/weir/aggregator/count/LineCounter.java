// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.audit.BucketReconciler;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.MalformedRecordException;
import org.jspecify.annotations.Nullable;

/**
 * The counter of single lines, which are calls and settlements. The counter adds a line to its row
 * and passes the line to the audit of the decision cache, or refuses the line. Not thread-safe.
 */
final class LineCounter {
  private static final String NO_ROOM =
      "quantity of the client, meter, endpoint and window would pass " + CallEvent.MAX_QUANTITY;

  private static final String NAMES_NO_CALL = "the settlement does not name the line of its call";

  private static final String NOT_COUNTED = "the settled call was not counted";

  private final EventCheck check;
  private final SettledCalls settled;
  private final CallerIds callerIds;
  private final WindowRows rows;
  private final BucketReconciler reconciler;
  private final PartitionState state;
  private final CountOutput output;

  LineCounter(
      EventCheck check,
      SettledCalls settled,
      CallerIds callerIds,
      WindowRows rows,
      BucketReconciler reconciler,
      PartitionState state,
      CountOutput output) {
    this.check = check;
    this.settled = settled;
    this.callerIds = callerIds;
    this.rows = rows;
    this.reconciler = reconciler;
    this.state = state;
    this.output = output;
  }

  /**
   * Counts a new line.
   *
   * @param lines the lines of the record
   * @param line the number of the line in the record, from 1
   * @param position the position of the line
   * @param batch the batch whose lines are being counted; null during a replay of lines
   * @return the reason if the line is refused, otherwise null
   */
  @Nullable String count(
      CallBatchReader lines, int line, UsagePosition position, @Nullable BatchHeader batch) {
    String reason;
    try {
      CallEvent event = lines.call(line);
      CallSettlement settlement = event.settlement();
      long digest = lines.digest(line);
      reason =
          settlement == null
              ? countCall(event, digest)
              : countSettlement(event, settlement, position, batch, digest);
    } catch (MalformedRecordException malformed) {
      reason = String.valueOf(malformed.getMessage());
    }
    if (reason != null) {
      settled.refused(position, state.appendEpochMillis);
    }
    return reason;
  }

  /** Counts a call. Returns the reason if the call is refused, otherwise null. */
  private @Nullable String countCall(CallEvent call, long digest) {
    String violation = check.violation(call);
    if (violation != null) {
      return violation;
    }
    RowKey row = rows.of(call);
    if (!rows.hasRoomFor(row, call)) {
      return NO_ROOM;
    }
    reconciler.take(call); // the cache charges a repeated call each time
    if (call.idFromCaller() && callerIds.isRepeated(call)) {
      rows.drop(row);
    } else {
      rows.count(row, call, digest);
    }
    return null;
  }

  /**
   * Counts a settlement if its call was counted and has no earlier settlement. Writes the outcome.
   * Returns the reason if the settlement is refused, otherwise null.
   */
  private @Nullable String countSettlement(
      CallEvent event,
      CallSettlement settlement,
      UsagePosition position,
      @Nullable BatchHeader batch,
      long digest) {
    long at = state.appendEpochMillis;
    String reason = check.violation(event);
    UsagePosition call = settlement.call();
    if (reason == null && (call == null || !isCounted(call, position, batch))) {
      reason = call == null ? NAMES_NO_CALL : NOT_COUNTED;
    }
    RowKey row = rows.of(event);
    boolean isFirst = reason != null || !settled.isSettled(event, at);
    if (reason == null && isFirst && !rows.hasRoomFor(row, event)) {
      reason = NO_ROOM;
    }
    Standing standing = null;
    if (reason == null && isFirst) {
      standing = new Standing(settlement.actualCost(), position);
      settled.settle(event, standing, at);
      reconciler.settle(event);
      rows.count(row, event, digest);
    } else if (reason == null) {
      standing = settled.standing(event, at);
      rows.drop(row);
    }
    Outcome outcome =
        reason != null ? Outcome.REFUSED : isFirst ? Outcome.STANDS : Outcome.SETTLED_BEFORE;
    output.settled(
        new SettlementVerdict(position, event.client(), event.id(), outcome, standing, reason), at);
    return reason;
  }

  private boolean isCounted(
      UsagePosition call, UsagePosition settlement, @Nullable BatchHeader batch) {
    long at = state.appendEpochMillis;
    return call.partition() == settlement.partition()
        && (settled.isCounted(call, at)
            || (isBefore(call, settlement, batch) && settled.isCountedNow(call, at)));
  }

  /** Returns whether a call is in the batch that is being counted, and precedes its settlement. */
  private static boolean isBefore(
      UsagePosition call, UsagePosition settlement, @Nullable BatchHeader batch) {
    return batch != null
        && batch.nodeEpoch() == call.nodeEpoch()
        && batch.node().equals(call.node())
        && call.line() > batch.linesBefore()
        && call.line() < settlement.line();
  }
}
