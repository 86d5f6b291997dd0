// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

/** The monotonic clock for deadlines. Buckets use the clock of the cache instead. */
final class NanoClock {
  private NanoClock() {}

  /** Returns nanoseconds since an arbitrary time. Only differences are meaningful. */
  static long now() {
    return System.nanoTime();
  }
}
