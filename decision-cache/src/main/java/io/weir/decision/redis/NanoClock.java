// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

/** The monotonic clock for deadlines. Buckets never use it. */
final class NanoClock {
  private NanoClock() {}

  /** Returns nanoseconds since an arbitrary moment; only differences are meaningful. */
  static long now() {
    return System.nanoTime();
  }
}
