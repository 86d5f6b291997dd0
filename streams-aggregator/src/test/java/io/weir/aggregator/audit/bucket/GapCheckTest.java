// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.model.Stamp;
import org.junit.jupiter.api.Test;

final class GapCheckTest {
  private final EpochAccount epoch = EpochAccount.ofStamp(new Stamp(1, 0, 3, 0), 3, 1_000);
  private final GapCheck check = new GapCheck();

  @Test
  void isOpen_anyFigureOfTheEpochHasMoved_isTrue() {
    check.begin(epoch);
    assertFalse(check.isOpen(epoch));

    epoch.addRecord(1, 0);
    assertTrue(check.isOpen(epoch));
    check.begin(epoch);
    epoch.moveTo(new Stamp(1, 0, 4, 0), 1_000, 0);
    assertTrue(check.isOpen(epoch));
    check.begin(epoch);
    assertFalse(check.isOpen(epoch));
  }

  /** Found by {@code ./weir sim}, seed 315353: three tokens stayed in flight for ever. */
  @Test
  void isOpen_onlyTheAcceptedDriftHasMoved_isTrue() {
    check.begin(epoch);
    epoch.moveTo(new Stamp(1, 0, 3, 0), 1_000, 3);

    assertTrue(check.isOpen(epoch));
    check.beginNext(epoch, false);
    assertEquals(3, check.missingTokens());
  }

  @Test
  void spendHeadroom_reducesKnownHeadroom_andLeavesUnknownUnbounded() {
    check.spendHeadroom(5);
    assertEquals(Long.MAX_VALUE, check.leastHeadroomMicros(2_000));

    check.noteHeadroom(7);
    check.spendHeadroom(5);
    assertEquals(2, check.leastHeadroomMicros(2_000));
    check.spendHeadroom(5);
    assertEquals(0, check.leastHeadroomMicros(2_000));
  }

  @Test
  void headroomInFlight_boundsUntilTheWatermarkPassesItsStamp() {
    check.noteHeadroomInFlight(5, 1_000);
    assertEquals(5, check.leastHeadroomMicros(1_000));
    assertEquals(Long.MAX_VALUE, check.leastHeadroomMicros(1_001));

    check.beginNext(epoch, false);
    assertEquals(5, check.leastHeadroomMicros(1_000));
    assertEquals(Long.MAX_VALUE, check.leastHeadroomMicros(1_001));

    check.beginNext(epoch, false);
    assertEquals(Long.MAX_VALUE, check.leastHeadroomMicros(1_000));
  }

  /**
   * Regression: they bounded what an ended epoch was given back, until the next check of the new
   * one.
   */
  @Test
  void noteHeadroomInFlight_epochEnds_holdsUntilTheWatermarkHasPassedItsStamp() {
    check.begin(epoch);
    check.noteHeadroomInFlight(5, 1_000);
    check.beginEpoch(EpochAccount.ofStamp(new Stamp(2, 0, 1, 0), 1, 3_000));
    check.noteHeadroomInFlight(9, 3_000);

    assertEquals(5, check.leastHeadroomMicros(1_000));
    assertEquals(9, check.leastHeadroomMicros(3_000));
    assertEquals(Long.MAX_VALUE, check.leastHeadroomMicros(3_001));
  }

  @Test
  void noteHeadroomInFlight_negative_isZero_andIsForgottenWithTheOthers() {
    check.noteHeadroomInFlight(-1, 2_000);
    assertEquals(0, check.leastHeadroomMicros(2_000));

    check.forgetHeadroom();
    assertEquals(Long.MAX_VALUE, check.leastHeadroomMicros(1_000));
  }

  /** The next check finds charges that are later than the stamp of this check. */
  @Test
  void noteHeadroomThen_ofLongBeforeTheStamp_boundsThisCheckOnly() {
    EpochAccount later = EpochAccount.ofStamp(new Stamp(1, 0, 3, 0), 3, 10_000_000);
    check.begin(later);
    check.noteHeadroomThen(7, 9_000_000); // clocks may differ by as much
    check.noteHeadroomThen(5, 8_999_999);
    assertEquals(5, check.leastHeadroomMicros(11_000_000));

    check.beginNext(later, false);
    assertEquals(7, check.leastHeadroomMicros(11_000_000));
  }
}
