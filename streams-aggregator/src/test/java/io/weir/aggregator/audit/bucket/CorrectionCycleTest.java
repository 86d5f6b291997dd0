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
  void confirm_neverGoesBack() {
    cycle.publish(1);
    cycle.confirm(1);
    cycle.confirm(0);

    assertEquals(1, cycle.confirmedVersion());
    assertTrue(cycle.isAgreed());
  }

  /** After a reset; once, the cache ignored what was published next, since its version was less. */
  @Test
  void confirm_correctionOfBeforeAReset_isExceededByTheNext() {
    cycle.publish(1);
    cycle.confirm(7);
    assertTrue(cycle.isAgreed());

    cycle.publish(2);
    assertEquals(8, cycle.version());
    assertTrue(cycle.isUnconfirmed());
  }
}
