// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PeriodicWorkTest {
  private static final long NOW = 1_000_000;

  private final List<String> ran = new ArrayList<>();

  private boolean runs(String kind) {
    ran.add(kind);
    return true;
  }

  @Test
  void run_nothingLeft_isDoneAtOnce_inOrder() {
    PeriodicWork work =
        new PeriodicWork().every(50, () -> runs("fast")).every(1_000, () -> runs("slow"));

    assertTrue(work.run(NOW));
    assertEquals(List.of("fast", "slow"), ran);
  }

  @Test
  void run_recordsAgainAndAgain_keepsToTheIntervals() {
    PeriodicWork work =
        new PeriodicWork().every(50, () -> runs("fast")).every(200, () -> runs("slow"));
    for (int tick = 0; tick < 20; tick++) {
      work.recordTaken();
      work.run(NOW + tick * PeriodicWork.TICK_MILLIS);
    }

    assertEquals(20, ran.stream().filter("fast"::equals).count());
    assertEquals(5, ran.stream().filter("slow"::equals).count());
  }

  @Test
  void run_oneKindDoneBeforeTheOthers_allRunOnceMore() {
    PeriodicWork work =
        new PeriodicWork().every(50, () -> runs("fast")).every(200, () -> runs("slow"));
    assertTrue(work.run(NOW));
    ran.clear();

    work.recordTaken();
    assertFalse(work.run(NOW + 50)); // only the fast one is due
    assertFalse(work.run(NOW + 100));
    assertFalse(work.run(NOW + 150));
    assertTrue(work.run(NOW + 200));
    assertEquals(List.of("fast", "fast", "fast", "fast", "slow", "fast", "slow"), ran);
  }

  @Test
  void run_workBegunBeforeTheRecord_isRunOnceMore() {
    List<Boolean> results = new ArrayList<>(List.of(false, true, true));
    PeriodicWork work = new PeriodicWork().every(50, () -> results.remove(0));
    assertFalse(work.run(NOW)); // begun, and not finished

    work.recordTaken();
    assertFalse(work.run(NOW + 50)); // finished, but it may not have seen the record
    assertTrue(work.run(NOW + 100));
    assertEquals(List.of(), results);
  }

  @Test
  void run_workThatCreatesLaterWork_isDoneOnlyAfterThat() {
    List<Boolean> made = new ArrayList<>();
    PeriodicWork work =
        new PeriodicWork()
            .every(200, () -> !made.add(true) || runs("makes"))
            .every(50, () -> made.isEmpty() ? runs("nothing") : made.remove(0) && runs("takes"));
    assertTrue(work.run(NOW));
    ran.clear();

    work.recordTaken();
    for (int tick = 1; tick < 4; tick++) {
      assertFalse(work.run(NOW + tick * PeriodicWork.TICK_MILLIS));
    }
    assertTrue(work.run(NOW + 4 * PeriodicWork.TICK_MILLIS));
    assertEquals(List.of(), made);
  }

  @Test
  void run_clockSetBack_doesNotPutWorkOff() {
    PeriodicWork work = new PeriodicWork().every(1_000, () -> runs("work"));
    work.run(NOW);

    work.recordTaken();
    assertTrue(work.run(NOW - 3_600_000));
    assertEquals(List.of("work", "work"), ran);
  }
}
