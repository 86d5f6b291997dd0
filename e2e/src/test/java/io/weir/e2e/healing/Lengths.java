// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import java.time.Duration;

/** How long the proofs run: short in CI, long with {@code -Dweir.e2e.long=true}. */
final class Lengths {
  /** Whether the long forms were asked for. */
  static final boolean LONG = Boolean.getBoolean("weir.e2e.long");

  /**
   * Within how long buckets must be right. One second is the aim, and asserted in the long form on
   * a machine of its own. The short form proves that they become right, on however busy a machine;
   * {@code benchmarks/run heal} tells how soon.
   */
  static final long HEAL_MILLIS_P99 = LONG ? 1_000 : Long.MAX_VALUE;

  private Lengths() {}

  /** The one in CI, the other in the long form. */
  static Duration of(Duration inCi, Duration longForm) {
    return LONG ? longForm : inCi;
  }

  /** The one in CI, the other in the long form. */
  static int of(int inCi, int longForm) {
    return LONG ? longForm : inCi;
  }
}
