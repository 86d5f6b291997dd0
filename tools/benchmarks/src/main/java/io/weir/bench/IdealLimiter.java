// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Token buckets that lose no data, queried at the same times as a real limiter. The surplus is the
 * number of tokens that the real limiter has admitted, minus the number of tokens that these
 * buckets have admitted. Thread-safe.
 */
final class IdealLimiter {
  private final double capacityTokens;
  private final double tokensPerNano;
  private final double[] levels;
  private final long[] lastNanos;
  private final Object[] locks;
  private final AtomicLong surplusTokens = new AtomicLong();
  private final AtomicLong peakTokens = new AtomicLong();

  IdealLimiter(int clients, long capacityTokens, double tokensPerSecond) {
    this.capacityTokens = (double) capacityTokens;
    this.tokensPerNano = tokensPerSecond / 1e9;
    this.levels = new double[clients];
    this.lastNanos = new long[clients];
    this.locks = new Object[clients];
    for (int i = 0; i < clients; i++) {
      levels[i] = this.capacityTokens;
      lastNanos[i] = System.nanoTime();
      locks[i] = new Object();
    }
  }

  /** Compares a decision of the real limiter with the decision of the ideal limiter. */
  void compare(int client, long cost, boolean admitted) {
    boolean ideal = take(client, (double) cost);
    if (ideal != admitted) {
      long surplus = surplusTokens.addAndGet(admitted ? cost : -cost);
      peakTokens.accumulateAndGet(surplus, Math::max);
    }
  }

  private boolean take(int client, double cost) {
    synchronized (locks[client]) {
      long now = System.nanoTime();
      double passed = (double) Math.max(0, now - lastNanos[client]);
      levels[client] = Math.min(capacityTokens, levels[client] + passed * tokensPerNano);
      lastNanos[client] = now;
      if (levels[client] < cost) {
        return false;
      }
      levels[client] -= cost;
      return true;
    }
  }

  /** Returns the current surplus of all clients together. */
  long surplusTokens() {
    return surplusTokens.get();
  }

  /** Returns the greatest surplus since {@link #markPeak}. */
  long peakTokens() {
    return peakTokens.get();
  }

  /** Resets the greatest surplus to the current surplus. */
  void markPeak() {
    peakTokens.set(surplusTokens.get());
  }
}
