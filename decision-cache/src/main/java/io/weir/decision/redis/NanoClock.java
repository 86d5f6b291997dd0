// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

/** The monotonic clock that deadlines are measured by. Buckets never see it. */
final class NanoClock {
  private NanoClock() {}

  /** Nanoseconds since an arbitrary moment; only differences mean something. */
  static long now() {
    return System.nanoTime();
  }
}
