// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class FullTimesTest {
  private final FullTimes times = new FullTimes();

  /** A charge and the refill that it takes. */
  private record Charge(long atMicros, long micros) {}

  @Test
  void take_chargeWithinAFullTime_isRefilledInItsRest() {
    times.add(10, 14);

    assertEquals(2, times.take(12, 6));

    assertEquals(List.of(10L, 12L), intervals(times));
  }

  @Test
  void take_chargeBetweenTwoFullTimes_isRefilledInTheSecondOnly() {
    times.add(10, 14);
    times.add(20, 30);

    assertEquals(4, times.take(15, 4));
    assertEquals(6, times.take(15, 9));
    assertEquals(0, times.take(15, 9));
    assertEquals(4, times.take(0, 9));
    assertEquals(List.of(), intervals(times));
  }

  @Test
  void take_partOfAFullTime_leavesBothEnds() {
    times.add(10, 20);

    assertEquals(2, times.take(14, 2));

    assertEquals(4, times.take(16, 9));
    assertEquals(4, times.take(0, 9));
  }

  @Test
  void take_chargeAfterAllFullTimes_isNotRefilled() {
    times.add(10, 14);

    assertEquals(0, times.take(14, 5));
  }

  @Test
  void add_overlappingTimes_countOnce() {
    times.add(10, 14);
    times.add(12, 16);

    assertEquals(6, times.take(0, 100));
  }

  @Test
  void notBefore_laterThanAll_cutsWhatIsAddedNext() {
    times.add(10, 14);
    times.ignoreBefore(20);
    times.add(15, 24);

    assertEquals(8, times.take(0, 100));
  }

  @Test
  void notBefore_withinATime_changesNothing() {
    times.add(10, 14);
    times.ignoreBefore(12);

    assertEquals(4, times.take(0, 100));
  }

  @Test
  void notBeyond_byLittle_cutsTheEnd_andWhatIsAddedNextCounts() {
    times.add(10, 14);
    times.add(20, 30);
    times.observeClock(25, 5);
    times.add(26, 29);

    assertEquals(4 + 5 + 3, times.take(0, 100));
  }

  @Test
  void notBeyond_byLittle_forgetsATimeThatLiesBeyond() {
    times.add(10, 14);
    times.add(20, 22);
    times.observeClock(18, 5);

    assertEquals(4, times.take(0, 100));
  }

  /**
   * Regression: the mark that a refund leaves ahead of the clock caused all times to be forgotten.
   */
  @Test
  void notBeyond_behindTheMarkOfARefund_forgetsNothing() {
    times.add(10, 14);
    times.ignoreBefore(100);
    times.observeClock(50, 5);
    times.add(60, 110);

    assertEquals(4 + 10, times.take(0, 1_000));
  }

  /**
   * Regression: the mark was forgotten together with what was cut, and the refund counted twice.
   */
  @Test
  void notBeyond_byLittle_behindTheMarkOfARefund_keepsTheMark() {
    times.add(40, 52);
    times.ignoreBefore(100);
    times.observeClock(50, 5);
    times.add(60, 110);

    assertEquals(10 + 10, times.take(0, 1_000));
  }

  /**
   * Regression: a limit that changed while the clock was ahead kept all from counting until then.
   */
  @Test
  void notBeyond_afterARestartWithTheClockAhead_restarts() {
    times.restart(1_000);
    times.observeClock(50, 5);
    times.add(40, 80);

    assertEquals(30, times.take(0, 1_000));
  }

  @Test
  void notBeyond_slightlyBeforeARestart_countsNothingBeforeIt() {
    times.restart(54);
    times.observeClock(50, 5);
    times.add(40, 80);

    assertEquals(30, times.take(0, 1_000));
  }

  /** Regression: a mark that was near the newest of many times was merged into it. */
  @Test
  void notBefore_maximumOfTimesKept_cutsWhatIsAddedNext() {
    for (int i = 0; i < FullTimes.MAX; i++) {
      times.add(100L * i, 100L * i + 50);
    }
    times.ignoreBefore(760);
    times.add(751, 770);

    assertEquals(
        FullTimes.MAX * 50 + 10, (double) times.take(0, 1_000), 2.0, "two marks cost 1 µs each");
  }

  @Test
  void notBeyond_byMuch_forgetsAll_andCountsNothingBefore() {
    times.add(10, 14);
    times.add(20, 30);
    times.observeClock(24, 5);
    times.add(15, 27);

    assertEquals(3, times.take(0, 100));
  }

  /** Ten times of 6 µs, 4 µs apart, but for two that are 1 µs apart. */
  @Test
  void add_moreThanTheMaximum_mergesTheNearest() {
    for (int i = 0; i <= FullTimes.MAX; i++) {
      long from = i == 3 ? 37 : 10L * (i + 1);
      times.add(from, 10L * (i + 1) + 6);
    }

    assertEquals(2 * FullTimes.MAX, intervals(times).size());
    assertEquals(
        List.of(30L, 45L), intervals(times).subList(4, 6), "6 µs of the one, and 9 of the other");
  }

  @Test
  void takeNewest_usesUpTheNewest_andCountsNothingBeforeTheirEnd() {
    FullTimes times = new FullTimes();
    times.add(10, 20);
    times.add(30, 40);
    times.takeNewest(13);
    times.add(35, 45);

    assertEquals(5, times.take(20, 100), "[40, 45)");
    assertEquals(7, times.take(0, 100), "[10, 17)");
  }

  @Test
  void takeNewest_moreThanIsKnown_usesUpAll() {
    FullTimes times = new FullTimes();
    times.add(10, 20);
    times.takeNewest(11);
    times.add(15, 25);

    assertEquals(5, times.take(0, 100));
  }

  @Test
  void restart_countsNothingBefore() {
    times.add(10, 14);
    times.restart(20);
    times.add(15, 22);

    assertEquals(2, times.take(0, 9));
  }

  /** Regression: the mark of a restart was not restored with the state. */
  @Test
  void restore_afterARestart_countsNothingBeforeIt() {
    times.restart(20);
    FullTimes restored = new FullTimes();
    restored.store(stored(times).members());
    restored.add(15, 22);

    assertEquals(2, restored.take(0, 9));
  }

  /** Compares with a slow, obvious version that takes all charges in the order they were made. */
  @Test
  void randomCharges_inAnyOrder_agreeWithTheirTrueOrder() {
    int exact = 0;
    for (int seed = 0; seed < 20_000; seed++) {
      exact += agreesWithTheOrder(new Random(seed)) ? 1 : 0;
    }
    assertTrue(exact > 10_000, exact + " without a merger");
  }

  private static boolean agreesWithTheOrder(Random random) {
    FullTimes times = new FullTimes();
    List<Charge> known = new ArrayList<>();
    long fullAt = 0;
    boolean merged = false;
    int charges = 2 + random.nextInt(20);
    for (int i = 0; i < charges; i++) {
      boolean late = i > 0 && random.nextInt(3) == 0;
      long newest = known.stream().mapToLong(Charge::atMicros).max().orElse(0);
      long at = late ? random.nextLong(newest + 1) : newest + random.nextInt(12);
      Charge charge = new Charge(at, 1 + random.nextInt(12));
      known.add(charge);
      long left = charge.micros() - times.take(at, charge.micros());
      if (fullAt < at) {
        times.add(fullAt, at);
        fullAt = at;
      }
      fullAt += left;
      merged |= intervals(times).size() == 2 * FullTimes.MAX;
      long expected = inOrder(known);
      assertTrue(fullAt >= expected, () -> "too little is missing after " + known);
      if (!merged) {
        assertEquals(expected, fullAt, known::toString);
      }
    }
    return !merged;
  }

  /** Returns the beginning and the end of each interval in turn, as they are stored. */
  private static List<Long> intervals(FullTimes times) {
    Unpacker stored = stored(times);
    return LongStream.generate(stored::integer).limit(2 * stored.integer()).boxed().toList();
  }

  private static Unpacker stored(FullTimes times) {
    Packer stored = new Packer().integer(1);
    times.store(stored.members());
    return Unpacker.ofVersion(stored.toBytes(), 1);
  }

  private static long inOrder(List<Charge> charges) {
    long fullAt = 0;
    for (Charge charge :
        charges.stream().sorted(Comparator.comparingLong(Charge::atMicros)).toList()) {
      fullAt = Math.max(fullAt, charge.atMicros()) + charge.micros();
    }
    return fullAt;
  }
}
