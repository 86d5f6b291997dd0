// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.function.BooleanSupplier;

/**
 * Charges what one search asks of the log to its client's budget, and ends it when it asks too
 * much. Each question costs {@link #QUESTION_BYTES}, and each reading what it brings besides. Not
 * safe for threads.
 */
final class MeteredReader implements PartitionReader {
  /** What a question to Kafka costs, also one that brings no record. */
  static final long QUESTION_BYTES = 16 << 10;

  private final PartitionReader log;
  private final ReadBudgets budgets;
  private final String client;
  private final long maxBytes;
  private final BooleanSupplier isLate;
  private long readings;
  private long bytes;
  private long charged;

  /**
   * A reader for one search.
   *
   * @param maxBytes how much the search may read
   * @param isLate whether the search has taken too long
   */
  MeteredReader(
      PartitionReader log,
      ReadBudgets budgets,
      String client,
      long maxBytes,
      BooleanSupplier isLate) {
    this.log = log;
    this.budgets = budgets;
    this.client = client;
    this.maxBytes = maxBytes;
    this.isLate = isLate;
  }

  /** Whether the search has read as much as one may. */
  boolean hasReadItsPart() {
    return bytes >= maxBytes;
  }

  /** Twice as far as this search has come, so that one that is repeated comes to its end. */
  long secondsToSearchFurther() {
    long further = Math.min(maxBytes, Math.max(ReadBudgets.LEAST_BYTES, 2 * charged));
    return Math.max(1, budgets.secondsToWait(client, further));
  }

  @Override
  public long begin() throws InterruptedException {
    charge(QUESTION_BYTES);
    return log.begin();
  }

  @Override
  public long end() throws InterruptedException {
    charge(QUESTION_BYTES);
    return log.end();
  }

  @Override
  public long offsetAt(long epochMillis) throws InterruptedException {
    charge(QUESTION_BYTES);
    return log.offsetAt(epochMillis);
  }

  @Override
  public Slice read(long offset) throws Spent, InterruptedException {
    if (hasReadItsPart() || budgets.isSpent(client) || isLate.getAsBoolean()) {
      throw new Spent();
    }
    readings++;
    charge(QUESTION_BYTES);
    Slice slice = log.read(offset);
    bytes += slice.bytes();
    charge(slice.bytes());
    return slice;
  }

  /**
   * Pays back all but {@link #QUESTION_BYTES} for each reading: the search has found its call where
   * its position says, and the budget is there for those that miss.
   */
  void hasFoundByPosition() {
    budgets.payBack(client, charged - readings * QUESTION_BYTES);
    charged = readings * QUESTION_BYTES;
  }

  private void charge(long cost) {
    charged += cost;
    budgets.spend(client, cost);
  }
}
