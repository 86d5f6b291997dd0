// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class GapCheckTest {
  private final EpochAccount line = new EpochAccount(1, 3, 1_000, 3, 0);
  private final GapCheck check = new GapCheck();

  @Test
  void isOpen_whenALineHasMovedInAnyOfItsFigures() {
    check.begin(line);
    assertFalse(check.isOpen(line));

    line.exactTokens++;
    assertTrue(check.isOpen(line));
    check.begin(line);
    line.chargedTokens++;
    assertTrue(check.isOpen(line));
    check.begin(line);
    assertFalse(check.isOpen(line));
  }

  /** Found by {@code ./weir sim}, seed 315353: three tokens stayed on their way for ever. */
  @Test
  void isOpen_whenOnlyTheAcceptedDriftHasMoved() {
    check.begin(line);
    line.driftTokens = 3;

    assertTrue(check.isOpen(line));
    check.beginNext(line);
    assertEquals(3, check.missingTokens());
  }

  @Test
  void spendHeadroom_leavesTheRest_andNoneIsUnknownStill() {
    check.spendHeadroom(5);
    assertEquals(Long.MAX_VALUE, check.leastHeadroomMicros());

    check.noteHeadroom(7);
    check.spendHeadroom(5);
    assertEquals(2, check.leastHeadroomMicros());
    check.spendHeadroom(5);
    assertEquals(0, check.leastHeadroomMicros());
  }
}
