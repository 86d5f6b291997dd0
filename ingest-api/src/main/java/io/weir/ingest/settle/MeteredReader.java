// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.log.CallsReader.Slice;
import java.util.function.BooleanSupplier;

/**
 * Reads a partition for one search, charges the client's read budget, and ends a search that reads
 * too much. Each request costs {@link #REQUEST_BYTES}. A read also costs the number of bytes that
 * it returns. Not thread-safe.
 */
final class MeteredReader implements PartitionReader {
  /** Cost of a request to Kafka in bytes, even if Kafka returns no record. */
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
   * @param isLate returns whether the search has exceeded its maximum duration
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

  /** Returns whether the search has read its maximum number of bytes. */
  boolean hasReadItsPart() {
    return bytes >= maxBytes;
  }

  /**
   * Returns the number of seconds, at least 1, until the client may read twice the number of bytes
   * of this search. A search after this time reads further than this search.
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
   * Refunds the cost of a search that found its call at the given position, except {@link
   * #REQUEST_BYTES} per read. The budget restricts searches that do not find their call.
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
