// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** When no record that could count a window again is left, nor may come. */
final class ReachTest {
  private static final long DAY = Duration.ofDays(1).toMillis();
  private static final long END = 1_000 * DAY;
  private static final long LATENESS = 35 * DAY;
  private static final long HELD = 42 * DAY;
  private static final long LAST_OFFSET = 700;
  private static final long CALLS_END = 1_000;
  private static final ClientRow ROW = new ClientRow(END - 900_000, END, true, LAST_OFFSET, END);

  private static Reach reach(long countedThrough, long closedThrough, long firstHeld) {
    return new Reach(LATENESS, countedThrough, closedThrough, firstHeld, CALLS_END, HELD);
  }

  @Test
  void rowOfAClosedWindow_tooLateForCalls_callsExpired_isOutOfReach() {
    assertTrue(reach(END + LATENESS, END, LAST_OFFSET + 1).isOver(ROW));
  }

  @Test
  void callThatWouldStillBeTaken_keepsTheRowInReach() {
    Reach reach = reach(END + LATENESS - 1, END, LAST_OFFSET + 1);

    assertFalse(reach.isOver(ROW));
    assertEquals(END + LATENESS, reach.overAt(ROW));
  }

  @Test
  void callThatIsHeld_keepsTheRowInReach_untilItExpires() {
    Reach reach = reach(END + 100 * DAY, END, LAST_OFFSET);

    assertFalse(reach.isOver(ROW));
    assertEquals(END + HELD, reach.overAt(ROW));
  }

  /** Its offset may never come again, and the row could never be erased. */
  @Test
  void callOfADeletedTopic_isNotHeldByTheRecreatedTopic() {
    Reach anew = new Reach(LATENESS, END + LATENESS, END, 0, LAST_OFFSET, HELD);
    assertTrue(anew.isOver(ROW));
    assertFalse(new Reach(LATENESS, END + LATENESS - 1, END, 0, LAST_OFFSET, HELD).isOver(ROW));
    assertFalse(new Reach(LATENESS, END + LATENESS, END, 0, LAST_OFFSET + 1, HELD).isOver(ROW));
  }

  @Test
  void callThatCameLate_isHeldSoMuchLonger() {
    ClientRow late = new ClientRow(END - 900_000, END, true, LAST_OFFSET, END + 34 * DAY);

    assertEquals(END + 34 * DAY + HELD, reach(END, END, 0).overAt(late));
  }

  @Test
  void windowThatIsNotClosed_isInReach() {
    assertFalse(reach(END + LATENESS, END - 1, LAST_OFFSET + 1).isOver(ROW));
  }

  @Test
  void runningRow_isInReach_alsoIfItsWindowIsClosed() {
    ClientRow running = new ClientRow(END - 900_000, END, false, LAST_OFFSET, END);

    assertFalse(reach(END + LATENESS, END, LAST_OFFSET + 1).isOver(running));
  }

  @Test
  void partitionWithoutAggregator_isInReach() {
    assertFalse(reach(0, 0, LAST_OFFSET + 1).isOver(ROW));
  }

  @Test
  void callsThatAreKeptForEver_areNeverOver() {
    Reach reach = new Reach(LATENESS, END + LATENESS, END, 0, CALLS_END, Reach.FOR_EVER);

    assertFalse(reach.isOver(ROW));
    assertEquals(Reach.FOR_EVER, reach.overAt(ROW));
  }

  /** Somebody has deleted them by hand, though the topic would keep them. */
  @Test
  void callsThatWouldBeKeptForEver_butAreGone_areOver() {
    assertTrue(
        new Reach(LATENESS, END + LATENESS, END, LAST_OFFSET + 1, CALLS_END, Reach.FOR_EVER)
            .isOver(ROW));
  }

  @Test
  void lengthsThatAddUpToMoreThanATime_areNoOverflow() {
    Reach reach = new Reach(Long.MAX_VALUE, END, END, 0, CALLS_END, Long.MAX_VALUE);

    assertFalse(reach.isOver(ROW));
    assertEquals(Long.MAX_VALUE, reach.overAt(ROW));
  }
}
