// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class SlotBucketTest {
  private static final long SECOND = 1_000_000;
  private static final long T = 1_800_000_000 * SECOND;
  private static final ConcurrencyLimit TWO = new ConcurrencyLimit(2, 30 * SECOND);
  private static final SlotClaim A = SlotClaim.of("acme", "a");
  private static final SlotClaim B = SlotClaim.of("acme", "b");
  private static final SlotClaim C = SlotClaim.of("acme", "c");

  private static SlotBucket at(long seconds, SlotState slots, SlotClaim claim) {
    return new SlotBucket(TWO, slots, claim, T + seconds * SECOND);
  }

  private static SlotState taken(long seconds, SlotState slots, SlotClaim claim) {
    return at(seconds, slots, claim).charged(1).slots();
  }

  @Test
  void slot_isHeldUntilItsLeaseEnds_asInTheWorkedExample() {
    SlotState slots = taken(10, taken(0, SlotState.EMPTY, A), B);
    SlotBucket denied = at(20, slots, C);
    assertFalse(denied.holds(1));
    assertEquals(0, denied.remainingTokens());
    assertEquals(10 * SECOND, denied.retryAfterMicros(1));
    assertEquals(20 * SECOND, denied.resetMicros());
    assertThrows(IllegalArgumentException.class, () -> denied.charged(1));

    slots = taken(25, slots, A);
    assertEquals(5 * SECOND, at(35, slots, C).retryAfterMicros(1));
    assertFalse(new SlotBucket(TWO, slots, C, T + 40 * SECOND - 1).holds(1));
    slots = taken(40, slots, C);
    assertEquals(
        Map.of(A.holder(), T + 55 * SECOND, C.holder(), T + 70 * SECOND), slots.byHolder());
  }

  @Test
  void holderWithASlot_isAdmittedAgain_andHasOneSlotStill() {
    SlotState slots = taken(10, taken(0, SlotState.EMPTY, A), B);
    SlotBucket again = at(20, slots, A);
    assertTrue(again.isHeld());
    assertTrue(again.holds(1_000));
    assertEquals(0, again.retryAfterMicros(1_000));
    assertEquals(0, again.charged(1_000).remainingTokens());
    assertEquals(2, again.charged(1).slots().size());
  }

  @Test
  void release_freesTheSlotAtOnce_andOnlyTheHoldersOwn() {
    SlotState slots = taken(0, taken(0, SlotState.EMPTY, A), B);
    assertEquals(slots.byHolder(), at(1, slots, C).released().slots().byHolder());
    SlotState left = at(1, slots, A).released().slots();
    assertEquals(Map.of(B.holder(), T + 30 * SECOND), left.byHolder());
    assertTrue(at(1, left, C).holds(1));
    assertEquals(SlotState.EMPTY, at(30, left, B).released().slots());
  }

  @Test
  void claimWithAnEnd_bringsBackAForgottenSlot_butNoneWhoseLeaseHasEnded() {
    SlotClaim until = A.until(T + 30 * SECOND);
    assertTrue(at(29, SlotState.EMPTY, until).holds(1));
    SlotBucket over = at(30, SlotState.EMPTY, until);
    assertFalse(over.holds(1));
    assertEquals(1, over.retryAfterMicros(1));
    // a holder that has renewed its lease holds the slot, whatever an older claim states
    assertTrue(at(30, taken(20, SlotState.EMPTY, A), until).holds(1));
    SlotState full = taken(0, taken(0, SlotState.EMPTY, B), C);
    assertFalse(at(1, full, until).holds(1));
  }

  @Test
  void clockSteppedBackByAnyTime_eachLeaseRunsForAsLongAsWhenItWasWritten() {
    long day = ConcurrencyLimit.MAX_LEASE_MICROS;
    ConcurrencyLimit one = new ConcurrencyLimit(1, day);
    SlotState slots = new SlotBucket(one, SlotState.EMPTY, A, T).charged(1).slots();
    for (long back : new long[] {0, 1, SECOND, day, 1_000 * day}) {
      SlotBucket denied = new SlotBucket(one, slots, B, T - back);
      assertFalse(denied.holds(1), "back by " + back);
      assertEquals(day, denied.retryAfterMicros(1));
      assertTrue(denied.of(A).isHeld());
      if (back > 0) {
        SlotState written = Objects.requireNonNull(denied.restarted(slots)).slots();
        assertTrue(new SlotBucket(one, written, B, T - back + day).holds(1));
        assertFalse(new SlotBucket(one, written, B, T - back + day - 1).holds(1));
      } else {
        assertNull(denied.restarted(slots));
      }
    }
  }

  @Test
  void loweredLimit_takesNoSlotAway_deniesUntilEnoughAreFree() {
    ConcurrencyLimit one = new ConcurrencyLimit(1, 30 * SECOND);
    SlotState slots = taken(10, taken(0, SlotState.EMPTY, A), B);
    SlotBucket lowered = new SlotBucket(one, slots, C, T + 11 * SECOND);
    assertEquals(-1, lowered.levelTokens());
    assertEquals(0, lowered.remainingTokens());
    assertTrue(lowered.of(A).holds(1));
    SlotState left = lowered.of(A).released().slots();
    assertFalse(new SlotBucket(one, left, C, T + 11 * SECOND).holds(1));
    assertTrue(new SlotBucket(one, left, C, T + 40 * SECOND).holds(1));
  }

  @Test
  void holders_ofDifferentClientsOrIds_areDifferent() {
    assertEquals(SlotClaim.of("ab", "c"), SlotClaim.of("ab", "c"));
    assertFalse(SlotClaim.of("ab", "c").equals(SlotClaim.of("a", "bc")));
    assertFalse(SlotClaim.of("a", "1:c").equals(SlotClaim.of("1:a", "c")));
    assertEquals(SlotClaim.HOLDER_CHARS, SlotClaim.of("c".repeat(256), "i").holder().length());
    assertThrows(IllegalArgumentException.class, () -> new SlotClaim("short", 0));
    assertThrows(
        IllegalArgumentException.class, () -> new SlotClaim("*".repeat(SlotClaim.HOLDER_CHARS), 0));
  }

  @Test
  void limit_outOfRange_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> new ConcurrencyLimit(0, SECOND));
    assertThrows(IllegalArgumentException.class, () -> new ConcurrencyLimit(10_001, SECOND));
    assertThrows(IllegalArgumentException.class, () -> new ConcurrencyLimit(1, 99_999));
    assertThrows(
        IllegalArgumentException.class, () -> new ConcurrencyLimit(1, 24 * 3_600 * SECOND + 1));
    assertEquals(3, new ConcurrencyLimit(10, SECOND).shareOf(3).capacityTokens());
    assertEquals(1, new ConcurrencyLimit(2, SECOND).shareOf(3).capacityTokens());
    assertEquals("2 concurrent calls, each for PT30S without a renewal", TWO.describe());
    assertTrue(TWO.isNoWiderThan(new ConcurrencyLimit(2, 20 * SECOND)));
    assertFalse(TWO.isNoWiderThan(new ConcurrencyLimit(2, 40 * SECOND)));
    assertFalse(TWO.isNoWiderThan(new ConcurrencyLimit(1, 30 * SECOND)));
  }
}
