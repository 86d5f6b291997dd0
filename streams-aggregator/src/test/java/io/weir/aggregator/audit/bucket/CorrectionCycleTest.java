// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class CorrectionCycleTest {
  private final CorrectionCycle cycle = new CorrectionCycle();

  /** Found by {@code ./weir sim}, seed 1069498: a stamp of before looked like one of after. */
  @Test
  void confirm_earlierCorrection_isConfirmedThoughANewerOneIsPending() {
    cycle.publish(1);
    cycle.publish(2);
    cycle.confirm(1);

    assertEquals(1, cycle.confirmedVersion());
    assertTrue(cycle.isUnconfirmed());
    assertFalse(cycle.isAgreed());
  }

  @Test
  void confirm_neverGoesBack_norBeyondTheNewest() {
    cycle.publish(1);
    cycle.confirm(7);
    assertEquals(1, cycle.confirmedVersion());

    cycle.confirm(0);
    assertEquals(1, cycle.confirmedVersion());
    assertTrue(cycle.isAgreed());
  }
}
