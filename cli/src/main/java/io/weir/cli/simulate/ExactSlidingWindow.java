// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The exact sliding window. This algorithm admits a call if it has recorded fewer calls than the
 * limit in the window that ends with the call. The algorithm keeps the time of each admitted call.
 */
final class ExactSlidingWindow implements SimulatedLimiter {
  private final long limit;
  private final long windowMicros;
  private final Deque<Long> admitted = new ArrayDeque<>();

  ExactSlidingWindow(long limit, long windowMicros) {
    this.limit = limit;
    this.windowMicros = windowMicros;
  }

  /** Returns the number of recorded calls within {@code (atMicros − window, atMicros]}. */
  int count(long atMicros) {
    while (!admitted.isEmpty() && admitted.getFirst() <= atMicros - windowMicros) {
      admitted.removeFirst();
    }
    return admitted.size();
  }

  /** Records a call that this window or another algorithm has admitted. */
  void note(long atMicros) {
    admitted.addLast(atMicros);
  }

  @Override
  public boolean take(long atMicros) {
    if (count(atMicros) >= limit) {
      return false;
    }
    note(atMicros);
    return true;
  }

  @Override
  public double used(long atMicros) {
    return count(atMicros);
  }
}
