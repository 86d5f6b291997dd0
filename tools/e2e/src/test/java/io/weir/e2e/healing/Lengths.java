// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.SuiteForm;
import java.time.Duration;

/**
 * How long the proofs run: short in {@code ./weir test}, longer in turn 0 of the full suite, and
 * long with {@code -Dweir.e2e.long=true}, on a machine of its own.
 */
final class Lengths {
  /** True if the long forms were requested. */
  static final boolean LONG = Boolean.getBoolean("weir.e2e.long");

  /** Within how long buckets must be right again, from their first call. */
  private static final long HEAL_MILLIS_P99 = 1_000;

  private Lengths() {}

  /**
   * Asserts the aim on a machine of its own, in the long form. The suite proves that buckets become
   * right, on however busy a machine; {@code tools/benchmarks/run heal} tells how soon.
   */
  static void assertHealedInTime(HealTimes times) {
    if (LONG) {
      assertTrue(times.sinceFirstCallMillis(99) <= HEAL_MILLIS_P99, times::toString);
    }
  }

  /** The first in the suite, the other in the long form. */
  static Duration of(Duration inSuite, Duration longForm) {
    return LONG ? longForm : inSuite;
  }

  /** The first in the suite, the other in the long form. */
  static int of(int inSuite, int longForm) {
    return LONG ? longForm : inSuite;
  }

  /** The first in the short form, the second in the full suite, the last in the long form. */
  static int of(int shortForm, int fullSuite, int longForm) {
    return of(SuiteForm.isFull() ? fullSuite : shortForm, longForm);
  }
}
