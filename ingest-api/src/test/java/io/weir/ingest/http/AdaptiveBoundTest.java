// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class AdaptiveBoundTest {
  private static final long MILLISECOND = 1_000_000;
  private static final int MOST = 2_000;

  private long now;

  /** Records as many calls as the bound permits, each with the given duration. */
  private void fill(AdaptiveBound bound, int seconds, long callNanos) {
    long end = now + seconds * 1_000L * MILLISECOND;
    while (now < end) {
      int underWay = bound.calls();
      for (int i = 0; i < 20; i++) {
        bound.took(now, callNanos, underWay);
      }
      now += 10 * MILLISECOND;
    }
  }

  @Test
  void callsThatTakeAsLongAsBefore_raiseTheBound_upToTheMost() {
    AdaptiveBound bound = new AdaptiveBound(300);
    assertEquals(AdaptiveBound.INITIAL, bound.calls());

    fill(bound, 60, 2 * MILLISECOND);
    int afterAMinute = bound.calls();
    assertTrue(afterAMinute > AdaptiveBound.INITIAL && afterAMinute < 300, "" + afterAMinute);
    fill(bound, 240, 2 * MILLISECOND);

    assertEquals(300, bound.calls());
  }

  @Test
  void callsThatWaitForEachOther_lowerTheBound_untilTheyDoNot() {
    AdaptiveBound bound = new AdaptiveBound(MOST);
    fill(bound, 60, 2 * MILLISECOND);
    int before = bound.calls();

    fill(bound, 20, 100 * MILLISECOND);

    assertTrue(bound.calls() < before / 2, "from " + before + " to " + bound.calls());
    assertTrue(bound.calls() >= AdaptiveBound.LEAST, "" + bound.calls());
    int low = bound.calls();
    fill(bound, 60, 2 * MILLISECOND);
    assertTrue(bound.calls() > low, "from " + low + " to " + bound.calls());
  }

  @Test
  void mostThatIsSmall_isNeverExceeded() {
    AdaptiveBound bound = new AdaptiveBound(10);
    assertEquals(10, bound.calls());
    fill(bound, 60, 2 * MILLISECOND);
    assertEquals(10, bound.calls());
  }

  @Test
  void admission_refusesBeyondTheBound_andMeasuresCallsThatSayWhenTheyBegan() {
    AdaptiveBound bound = new AdaptiveBound(MOST);
    Admission admission = new Admission(MOST, MOST, bound, null, () -> now, () -> 0.5);
    for (int i = 0; i < AdaptiveBound.INITIAL; i++) {
      assertEquals(null, admission.tryAdmit(Admission.Kind.CALL));
    }
    assertEquals(HttpStatistics.Shed.CALLS_UNDER_WAY, admission.tryAdmit(Admission.Kind.CALL));
    // batches and settlements take none of their places
    assertEquals(null, admission.tryAdmit(Admission.Kind.CALL_ON_THREAD));
    admission.end(Admission.Kind.CALL_ON_THREAD, now);
    assertEquals(AdaptiveBound.INITIAL, admission.maxCallsUnderWay());

    for (int second = 0; second < 60; second++) {
      for (int i = 0; i < 100; i++) {
        long began = now;
        now += 10 * MILLISECOND;
        admission.end(Admission.Kind.CALL, began);
        assertEquals(null, admission.tryAdmit(Admission.Kind.CALL));
      }
    }
    assertTrue(admission.maxCallsUnderWay() > AdaptiveBound.INITIAL);
    admission.end(Admission.Kind.CALL, now);
    assertEquals(AdaptiveBound.INITIAL - 1, admission.underWay());
  }
}
