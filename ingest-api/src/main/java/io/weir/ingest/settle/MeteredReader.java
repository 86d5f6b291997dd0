// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.log.CallsReader.Slice;
import java.util.function.BooleanSupplier;

/**
 * Charges the requests of one search to its client's budget, and ends the search if it reads too
 * much. Each request costs {@link #QUESTION_BYTES}, and each read also the bytes that it returns.
 * Not thread-safe.
 */
final class MeteredReader implements PartitionReader {
  /** Cost of a request to Kafka, also of one that returns no record. */
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
   * Creates the reader of one search.
   *
   * @param maxBytes most bytes that the search may read
   * @param isLate returns whether the search has taken too long
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

  /** Returns whether the search has read as much as a single search may. */
  boolean hasReadItsPart() {
    return bytes >= maxBytes;
  }

  /**
   * Returns how many seconds pass until the client may read twice as much as this search has read,
   * at least 1, so that a repeated search gets further.
   */
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
   * Credits back all but {@link #QUESTION_BYTES} per read: the search has found its call at the
   * given position, and the budget is meant for searches that miss.
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
