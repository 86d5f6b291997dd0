// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.util.Arrays;

/**
 * The admitted calls that the cache stores for one bucket of a {@link SlidingLog}, in the order of
 * their times. Immutable.
 */
public final class LogState {
  /** A log without calls. */
  public static final LogState EMPTY = new LogState(new long[0], new long[0]);

  private final long[] timesMicros;
  private final long[] costs;

  private LogState(long[] timesMicros, long[] costs) {
    this.timesMicros = timesMicros;
    this.costs = costs;
  }

  /** Returns the number of calls. */
  public int size() {
    return costs.length;
  }

  /** Returns when a call was admitted, in microseconds since 1970 by the cache's clock. */
  public long atMicros(int index) {
    return timesMicros[index];
  }

  /** Returns the cost of a call. */
  public long cost(int index) {
    return costs[index];
  }

  /** Returns the time of the newest call; 0 if the log is empty. */
  long lastMicros() {
    return size() == 0 ? 0 : timesMicros[size() - 1];
  }

  /** Returns a log that lacks the {@code dropped} oldest calls and has one more call at the end. */
  public LogState with(int dropped, long atMicros, long cost) {
    int kept = size() - dropped;
    long[] times = Arrays.copyOf(Arrays.copyOfRange(timesMicros, dropped, size()), kept + 1);
    long[] taken = Arrays.copyOf(Arrays.copyOfRange(costs, dropped, size()), kept + 1);
    times[kept] = atMicros;
    taken[kept] = cost;
    return new LogState(times, taken);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof LogState log
        && Arrays.equals(timesMicros, log.timesMicros)
        && Arrays.equals(costs, log.costs);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(timesMicros) + Arrays.hashCode(costs);
  }

  @Override
  public String toString() {
    return Arrays.toString(timesMicros) + " " + Arrays.toString(costs);
  }
}
