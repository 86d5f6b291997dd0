// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.log.CallsReader.Slice;
import java.util.function.BooleanSupplier;

/**
 * Charges the requests of one search to its client's budget, and ends the search if it reads too
 * much. Each request costs {@link #REQUEST_BYTES}, and each read also the bytes that it returns.
 * Not thread-safe.
 */
final class MeteredReader implements PartitionReader {
  /** Cost of a request to Kafka, even of one that returns no record. */
  static final long REQUEST_BYTES = 16 << 10;

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
   * @param maxBytes maximum number of bytes that the search may read
   * @param isLate returns whether the search has exceeded its time
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

  /** Returns whether the search has read the maximum of a single search. */
  boolean hasReadItsPart() {
    return bytes >= maxBytes;
  }

  /**
   * Returns the number of seconds until the client may read twice as much as this search has read,
   * at least 1, so that a repeated search gets further.
   */
  long secondsToSearchFurther() {
    long further = Math.min(maxBytes, Math.max(ReadBudgets.MIN_BYTES, 2 * charged));
    return Math.max(1, budgets.secondsToWait(client, further));
  }

  @Override
  public long begin() throws InterruptedException {
    charge(REQUEST_BYTES);
    return log.begin();
  }

  @Override
  public long end() throws InterruptedException {
    charge(REQUEST_BYTES);
    return log.end();
  }

  @Override
  public long offsetAt(long epochMillis) throws InterruptedException {
    charge(REQUEST_BYTES);
    return log.offsetAt(epochMillis);
  }

  @Override
  public Slice read(long offset) throws Spent, InterruptedException {
    if (hasReadItsPart() || budgets.isSpent(client) || isLate.getAsBoolean()) {
      throw new Spent();
    }
    readings++;
    charge(REQUEST_BYTES);
    Slice slice = log.read(offset);
    bytes += slice.bytes();
    charge(slice.bytes());
    return slice;
  }

  /**
   * Credits back all but {@link #REQUEST_BYTES} per read. The search has found its call at the
   * given position, and the budget is meant for searches that fail.
   */
  void hasFoundByPosition() {
    budgets.payBack(client, charged - readings * REQUEST_BYTES);
    charged = readings * REQUEST_BYTES;
  }

  private void charge(long cost) {
    charged += cost;
    budgets.spend(client, cost);
  }
}
