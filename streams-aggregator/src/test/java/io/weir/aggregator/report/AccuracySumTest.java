// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class AccuracySumTest {
  private static final int CLASSES = PartitionAccuracy.DELAY_BOUNDS_MILLIS.size() + 1;

  @Test
  void sum_overPartitions_addsEveryFigure() {
    AccuracySum sum =
        AccuracySum.of(
            List.of(
                partition(
                    0,
                    Map.of("burst", new Figures(10, 1, 2, 3, 4, 5)),
                    Map.of(Cause.GAP, 2L),
                    delays()),
                partition(
                    1,
                    Map.of(
                        "burst", new Figures(100, 10, 20, 30, 40, 50),
                        "monthly", new Figures(1, 0, 0, 0, 0, 0)),
                    Map.of(Cause.GAP, 1L, Cause.RESTORE, 7L),
                    delays())));

    assertEquals(new Figures(110, 11, 22, 33, 44, 55), sum.policies().get("burst"));
    assertEquals(new Figures(111, 11, 22, 33, 44, 55), sum.fleet());
    assertEquals(3, sum.corrections().get(Cause.GAP));
    assertEquals(0, sum.corrections().get(Cause.SETTLE));
    assertEquals(10, sum.correctionsTotal());
  }

  @Test
  void delay_ofNothing_isNull() {
    assertNull(sumOfDelays(delays()).delayMillis(50));
    assertEquals(0, sumOfDelays(delays()).delayCount());
  }

  @Test
  void delay_atTheEdgeOfAClass_isItsUpperBound() {
    List<Long> delays = delays();
    delays.set(2, 98L); // up to 100 ms
    delays.set(5, 2L); // up to 250 ms

    assertEquals(100, sumOfDelays(delays).delayMillis(98));
    assertEquals(250, sumOfDelays(delays).delayMillis(99));
    assertEquals(100, sumOfDelays(delays).delayMillis(1));
  }

  @Test
  void delay_inTheLastClass_hasNoBound() {
    List<Long> delays = delays();
    delays.set(0, 1L);
    delays.set(CLASSES - 1, 1L);

    assertEquals(50, sumOfDelays(delays).delayMillis(50));
    assertNull(sumOfDelays(delays).delayMillis(51));
  }

  @Test
  void delay_ofRandomHistograms_agreesWithTheSortedList() {
    for (long seed = 0; seed < 500; seed++) {
      Random random = new Random(seed);
      List<Long> delays = delays();
      List<Integer> sorted = new ArrayList<>();
      for (int i = 0; i < CLASSES - 1; i++) {
        int count = random.nextInt(3) == 0 ? random.nextInt(40) : 0;
        delays.set(i, (long) count);
        sorted.addAll(Collections.nCopies(count, i));
      }
      int percent = 1 + random.nextInt(100);
      Long expected =
          sorted.isEmpty()
              ? null
              : PartitionAccuracy.DELAY_BOUNDS_MILLIS.get(
                  sorted.get((int) Math.ceil(sorted.size() * percent / 100.0 - 1e-9) - 1));

      assertEquals(expected, sumOfDelays(delays).delayMillis(percent), "seed " + seed);
    }
  }

  @Test
  void percent_hasSixDigits_andNeverAnExponent() {
    assertEquals("0.003000", text(3, 100_000));
    assertEquals("0.000001", text(1, 100_000_000));
    assertEquals("0.000000", text(0, 5));
    assertEquals("66.666667", text(2, 3));
    assertNull(AccuracyReports.percent(0, 0));
  }

  private static String text(long wrong, long decided) {
    BigDecimal percent = AccuracyReports.percent(wrong, decided);
    return String.valueOf(percent);
  }

  private static AccuracySum sumOfDelays(List<Long> delays) {
    return AccuracySum.of(List.of(partition(0, Map.of(), Map.of(), delays)));
  }

  private static List<Long> delays() {
    return new ArrayList<>(Collections.nCopies(CLASSES, 0L));
  }

  private static PartitionAccuracy partition(
      int partition,
      Map<String, Figures> policies,
      Map<Cause, Long> corrections,
      List<Long> delays) {
    return new PartitionAccuracy(partition, 1, policies, corrections, delays);
  }
}
