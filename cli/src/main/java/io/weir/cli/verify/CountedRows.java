// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallLine;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The rows that the recount expects: a FINAL row for the lines of a window that were counted before
 * it was closed, and an adjustment for the later lines of each record. Not thread-safe.
 */
final class CountedRows {
  private final VerifyData data;

  /** The adjustments that count lines of the current record. */
  private final Set<Adjustments.Id> adjusted = new LinkedHashSet<>();

  private long linesCounted;

  CountedRows(VerifyData data) {
    this.data = data;
  }

  void count(WindowAccount account, CallLine line, long offset, long digest) {
    linesCounted++;
    account.counted.add(line, offset, digest);
    if (isInFinal(account, offset)) {
      account.countedFinal.add(line, offset, digest);
    } else {
      Adjustments.Id id = new Adjustments.Id(account.slot, offset, line.reason());
      data.adjustments.change(id, both -> both.counted.add(line, offset, digest));
      adjusted.add(id);
    }
    if (account.firstCounted == 0) {
      account.firstCounted = linesCounted;
    }
    if (account.countedPeriod == null) {
      account.countedPeriod = line.billingPeriodOfWindow(account.slot.startEpochMillis());
    }
  }

  /**
   * Records a dropped duplicate. The FINAL row has the number of duplicates that were dropped while
   * its window was open.
   */
  static void drop(WindowAccount account, long trustedEpochMillis) {
    if (account.counted.hasAny() && trustedEpochMillis < account.closedAtEpochMillis) {
      account.countedFinal.duplicates++;
    } else if (account.counted.hasAny() && trustedEpochMillis == account.closedAtEpochMillis) {
      account.duplicatesAtClose++;
    }
  }

  /** Determines whether the adjustments for the lines of a record are complete. */
  void recordTaken(RecountedPartition part) {
    for (Adjustments.Id id : adjusted) {
      long start = id.slot().startEpochMillis();
      boolean complete = !part.mayLack(start, start + data.range.windowMillis());
      data.adjustments.change(id, both -> both.countedComplete = complete);
    }
    adjusted.clear();
  }

  void move(Settlements.Settlement settlement, long fromOffset, long toOffset) {
    WindowAccount account = data.accounts.of(settlement.slot());
    account.counted.subtract(settlement);
    account.counted.add(settlement);
    changeRow(account, settlement, fromOffset, row -> row.subtract(settlement));
    changeRow(account, settlement, toOffset, row -> row.add(settlement));
  }

  void remove(Settlements.Settlement settlement) {
    WindowAccount account = data.accounts.of(settlement.slot());
    account.firstCounted = 0; // the first counted line may be this settlement
    account.counted.subtract(settlement);
    changeRow(account, settlement, settlement.place().offset(), row -> row.subtract(settlement));
  }

  private void changeRow(
      WindowAccount account,
      Settlements.Settlement settlement,
      long offset,
      Consumer<WindowFigures> change) {
    if (isInFinal(account, offset)) {
      change.accept(account.countedFinal);
    } else {
      data.adjustments.change(
          new Adjustments.Id(settlement.slot(), offset, settlement.reason()),
          both -> change.accept(both.counted));
    }
  }

  private static boolean isInFinal(WindowAccount account, long offset) {
    return offset <= account.billedFinal.lastOffset;
  }
}
