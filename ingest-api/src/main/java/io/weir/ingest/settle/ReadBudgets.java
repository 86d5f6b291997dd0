// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The read budgets of clients: leaky buckets that bound how many bytes the searches of each client
 * read. A budget recovers at a steady rate, and a client that has used up its budget must wait.
 * Thread-safe.
 *
 * <p>Example: the searches of a client have read 128 MiB. The client may start its next search half
 * a second later, when its budget has recovered by 1 MiB.
 */
final class ReadBudgets {
  /** Size of a full budget in bytes. */
  static final long CAPACITY_BYTES = 128L << 20;

  /** Number of bytes by which a budget recovers per second. */
  static final long CREDITED_PER_SECOND = 2L << 20;

  /** Minimum number of bytes in the budget that allows a search to start. */
  static final long MIN_BYTES = 1L << 20;

  /**
   * Maximum number of clients in memory. The least recently active client is removed, and later
   * starts with a full budget.
   */
  private static final int MAX_CLIENTS = 10_000;

  private final LongSupplier clockNanos;
  private final Map<String, Level> levels =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Level> eldest) {
          return size() > MAX_CLIENTS;
        }
      };

  /** The used part of a budget in bytes at a point in time. */
  private record Level(long bytes, long atNanos) {}

  ReadBudgets(LongSupplier clockNanos) {
    this.clockNanos = clockNanos;
  }

  /** Returns the used part of a client's budget in bytes. */
  synchronized long level(String client) {
    Level level = levels.get(client);
    if (level == null) {
      return 0;
    }
    double seconds =
        (double) (clockNanos.getAsLong() - level.atNanos()) / TimeUnit.SECONDS.toNanos(1);
    return Math.max(0, level.bytes() - (long) (seconds * CREDITED_PER_SECOND));
  }

  /** Returns whether the client's budget is used up. */
  boolean isSpent(String client) {
    return level(client) >= CAPACITY_BYTES;
  }

  /** Returns the seconds until a search may start, rounded up; 0 if it may start now. */
  long secondsToWait(String client) {
    return secondsToWait(client, MIN_BYTES);
  }

  /**
   * Returns the seconds until the budget has the given number of bytes, rounded up; 0 if the budget
   * has this number now.
   *
   * @param bytes at most {@link #CAPACITY_BYTES}
   */
  long secondsToWait(String client, long bytes) {
    long excess = level(client) + bytes - CAPACITY_BYTES;
    return excess <= 0 ? 0 : (excess + CREDITED_PER_SECOND - 1) / CREDITED_PER_SECOND;
  }

  /** Takes bytes from a client's budget. */
  synchronized void spend(String client, long bytes) {
    levels.put(client, new Level(level(client) + bytes, clockNanos.getAsLong()));
  }

  /** Returns bytes to a client's budget, which never exceeds a full budget. */
  synchronized void payBack(String client, long bytes) {
    levels.put(client, new Level(Math.max(0, level(client) - bytes), clockNanos.getAsLong()));
  }
}
