// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Bounds how much of the log is read for each client's searches, as a leaky bucket. Bytes are
 * credited back at a steady rate, and a client that has read too much must wait. Thread-safe.
 *
 * <p>Example: a client whose searches have read 128 MiB may start its next search half a second
 * later, when 1 MiB has been credited back.
 */
final class ReadBudgets {
  /** Maximum number of bytes that may be read for one client at once. */
  static final long CAPACITY_BYTES = 128L << 20;

  /** Bytes credited back per second. */
  static final long CREDITED_PER_SECOND = 2L << 20;

  /** Minimum number of readable bytes for a search to start. */
  static final long MIN_BYTES = 1L << 20;

  /**
   * Maximum number of clients; the least recently active one is removed and restarts with a full
   * budget.
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

  /** Bytes read and not yet credited back at a point in time. */
  private record Level(long bytes, long atNanos) {}

  ReadBudgets(LongSupplier clockNanos) {
    this.clockNanos = clockNanos;
  }

  /** Returns the number of bytes read for a client and not yet credited back. */
  synchronized long level(String client) {
    Level level = levels.get(client);
    if (level == null) {
      return 0;
    }
    double seconds =
        (double) (clockNanos.getAsLong() - level.atNanos()) / TimeUnit.SECONDS.toNanos(1);
    return Math.max(0, level.bytes() - (long) (seconds * CREDITED_PER_SECOND));
  }

  /** Returns whether the client may currently read nothing. */
  boolean isSpent(String client) {
    return level(client) >= CAPACITY_BYTES;
  }

  /** Returns the seconds until a search may start, rounded up; 0 if it may start now. */
  long secondsToWait(String client) {
    return secondsToWait(client, MIN_BYTES);
  }

  /**
   * Returns the seconds until the given number of bytes may be read at once, rounded up; 0 if they
   * may be read now.
   *
   * @param bytes at most {@link #CAPACITY_BYTES}
   */
  long secondsToWait(String client, long bytes) {
    long excess = level(client) + bytes - CAPACITY_BYTES;
    return excess <= 0 ? 0 : (excess + CREDITED_PER_SECOND - 1) / CREDITED_PER_SECOND;
  }

  /** Records that bytes were read for a client. */
  synchronized void spend(String client, long bytes) {
    levels.put(client, new Level(level(client) + bytes, clockNanos.getAsLong()));
  }

  /** Credits bytes back to a client; the level does not fall below zero. */
  synchronized void payBack(String client, long bytes) {
    levels.put(client, new Level(Math.max(0, level(client) - bytes), clockNanos.getAsLong()));
  }
}
