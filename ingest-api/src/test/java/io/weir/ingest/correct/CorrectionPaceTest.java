// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.SuiteForm;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The rate of corrections, in virtual time. */
final class CorrectionPaceTest {
  private static final int SEEDS = SuiteForm.isFull() ? 40 : 10;
  private static final long SECOND = 1_000_000_000;

  private record Sent(long atNanos, int count) {}

  @Test
  void maxBatch_isAFiftiethOfTheRate_withinItsBounds() {
    assertEquals(1, new CorrectionPace(1, 0).maxBatch());
    assertEquals(20, new CorrectionPace(1_000, 0).maxBatch());
    assertEquals(64, new CorrectionPace(20_000, 0).maxBatch());
  }

  @Test
  void waitNanos_afterABatch_isItsShareOfASecond() {
    CorrectionPace pace = new CorrectionPace(1_000, 0);
    pace.sent(20, 0);

    assertEquals(20_000_000, pace.waitNanos(0));
    assertEquals(0, pace.waitNanos(20_000_000));
  }

  @Test
  void waitNanos_afterAPause_allowsABurstOfFiftyMillisecondsOnly() {
    CorrectionPace pace = new CorrectionPace(1_000, 0);
    long later = 3_600 * SECOND;
    int sent = 0;
    while (pace.waitNanos(later) <= 0) {
      pace.sent(20, later);
      sent += 20;
    }

    assertEquals(60, sent);
  }

  @Test
  void pace_randomLoad_neverExceedsTheRateInAnyInterval() {
    for (long seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      int rate = 1 + random.nextInt(30_000);
      long nowNanos = random.nextLong();
      CorrectionPace pace = new CorrectionPace(rate, nowNanos);
      Deque<Sent> history = new ArrayDeque<>();
      for (int i = 0; i < 500; i++) {
        nowNanos +=
            random.nextInt(4) == 0 ? random.nextInt(300_000_000) : random.nextInt(2_000_000);
        nowNanos += Math.max(0, pace.waitNanos(nowNanos));
        int count = 1 + random.nextInt(pace.maxBatch());
        pace.sent(count, nowNanos);
        history.addLast(new Sent(nowNanos, count));
        long inInterval = 0;
        for (var sent = history.descendingIterator(); sent.hasNext(); ) {
          Sent each = sent.next();
          inInterval += each.count();
          double seconds = (nowNanos - each.atNanos()) / (double) SECOND;
          assertTrue(
              inInterval <= rate * (seconds + 0.05) + pace.maxBatch() + 1,
              "seed " + seed + ", rate " + rate + ": " + inInterval + " in " + seconds + " s");
        }
      }
    }
  }

  @Test
  void pace_loadAllTheTime_reachesTheRate() {
    CorrectionPace pace = new CorrectionPace(20_000, 0);
    long nowNanos = 0;
    long sent = 0;
    while (nowNanos < 10 * SECOND) {
      // a loop that can only wait for whole milliseconds
      long waitMillis = (Math.max(0, pace.waitNanos(nowNanos)) + 999_999) / 1_000_000;
      nowNanos += waitMillis * 1_000_000;
      pace.sent(256, nowNanos);
      sent += 256;
    }

    assertTrue(sent > 198_000 && sent < 202_000, "sent " + sent);
  }
}
