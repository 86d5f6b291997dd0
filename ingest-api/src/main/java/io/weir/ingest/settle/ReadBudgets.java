// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How much of the log searches have read for each client, as a leaky bucket: what was read lately
 * is paid back at a steady rate, and who has read too much waits. Safe for threads.
 *
 * <p>Example: a client that had 128 MiB read may begin its next search half a second later, when 1
 * MiB is paid back.
 */
final class ReadBudgets {
  /** What may be read for one client at once. */
  static final long CAPACITY_BYTES = 128L << 20;

  /** What is paid back in a second. */
  static final long PAID_BACK_PER_SECOND = 2L << 20;

  /** A search is begun when at least this much may be read. */
  static final long LEAST_BYTES = 1L << 20;

  /** Clients remembered; the one that was not heard of for longest begins anew. */
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

  /** Bytes read and not paid back at a time. */
  private record Level(long bytes, long atNanos) {}

  ReadBudgets(LongSupplier clockNanos) {
    this.clockNanos = clockNanos;
  }

  /** Bytes that were read for a client and are not paid back. */
  synchronized long level(String client) {
    Level level = levels.get(client);
    if (level == null) {
      return 0;
    }
    double seconds =
        (double) (clockNanos.getAsLong() - level.atNanos()) / TimeUnit.SECONDS.toNanos(1);
    return Math.max(0, level.bytes() - (long) (seconds * PAID_BACK_PER_SECOND));
  }

  /** Whether nothing may be read for a client now. */
  boolean isSpent(String client) {
    return level(client) >= CAPACITY_BYTES;
  }

  /** Seconds until a search may begin, rounded up; 0 when one may now. */
  long secondsToWait(String client) {
    return secondsToWait(client, LEAST_BYTES);
  }

  /**
   * Seconds until so much may be read at once, rounded up; 0 when it may be now.
   *
   * @param bytes up to {@link #CAPACITY_BYTES}
   */
  long secondsToWait(String client, long bytes) {
    long excess = level(client) + bytes - CAPACITY_BYTES;
    return excess <= 0 ? 0 : (excess + PAID_BACK_PER_SECOND - 1) / PAID_BACK_PER_SECOND;
  }

  /** Notes what was read for a client. */
  synchronized void spend(String client, long bytes) {
    levels.put(client, new Level(level(client) + bytes, clockNanos.getAsLong()));
  }

  /** Takes back some of what was noted for a client, down to nothing. */
  synchronized void payBack(String client, long bytes) {
    levels.put(client, new Level(Math.max(0, level(client) - bytes), clockNanos.getAsLong()));
  }
}
