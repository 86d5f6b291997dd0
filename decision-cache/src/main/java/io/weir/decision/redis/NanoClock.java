// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

/**
 * The monotonic clock for deadlines. The refill of buckets follows the clock of the cache instead.
 */
final class NanoClock {
  private NanoClock() {}

  /**
   * Returns nanoseconds since an arbitrary time. Only the difference of two values is meaningful.
   */
  static long now() {
    return System.nanoTime();
  }
}
