// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.ingest.correct.CacheWatch.LossAnnouncer;
import io.weir.topics.model.CacheLoss;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The action of a watch at each check. */
final class CacheWatchTest {
  private static final long CACHE_MILLIS = 1_700_000_000_000L;

  private final HandClock clock = new HandClock();
  private final FakeLife life = new FakeLife();
  private final List<CacheLoss> announced = new ArrayList<>();
  private boolean kafkaAnswers = true;
  private final CorrectionStatistics statistics =
      new CorrectionStatistics(new SimpleMeterRegistry());
  private final CacheWatch watch =
      new CacheWatch(life, this::announce, statistics, clock.clock(), () -> CACHE_MILLIS);

  private void announce(CacheLoss loss) throws LossAnnouncer.FailedException {
    if (!kafkaAnswers) {
      throw new LossAnnouncer.FailedException("away", new IllegalStateException());
    }
    announced.add(loss);
  }

  @Test
  void look_warmCache_waitsForASignal() {
    life.set(Warmth.WARM);

    assertEquals(0, watch.look());
    assertEquals(Warmth.WARM, statistics.warmth());
    assertEquals(List.of(), announced);
  }

  @Test
  void look_unknownWarmth_onlyWaits() {
    assertTrue(watch.look() > 0);
    assertEquals(Warmth.UNKNOWN, statistics.warmth());
    assertEquals(List.of(), announced);
  }

  @Test
  void look_unknown_isCounted_untilTheCacheAnswers() {
    assertEquals(0, statistics.looksUnanswered());
    watch.look();
    watch.look();
    assertEquals(2, statistics.looksUnanswered());
    life.set(Warmth.COLD);
    watch.look();
    assertEquals(0, statistics.looksUnanswered());
  }

  @Test
  void look_cold_announcesOnce_andCountsTheCompletion() {
    life.set(Warmth.COLD);
    assertTrue(watch.look() > 0);
    assertTrue(watch.look() > 0);

    assertEquals(List.of(new CacheLoss("g1", CACHE_MILLIS)), announced);
    assertEquals(1, statistics.restorationsBegun.count());
    assertEquals(0, statistics.restorationsCompleted.count());
    life.set(Warmth.WARM);
    assertEquals(0, watch.look());
    assertEquals(0, watch.look());

    assertEquals(1, statistics.restorationsCompleted.count());
  }

  @Test
  void look_announcementFails_abandonsAndTriesAgain_withGrowingPauses() {
    life.set(Warmth.COLD);
    kafkaAnswers = false;
    long firstPause = watch.look();
    long secondPause = watch.look();

    assertEquals(2 * firstPause, secondPause);
    assertEquals(List.of("g1", "g2"), life.abandoned());
    assertEquals(2, statistics.restorationsAbandoned.count());
    kafkaAnswers = true;
    watch.look();

    assertEquals("g3", announced.get(0).generation());
    assertEquals(1, statistics.restorationsBegun.count());
  }

  @Test
  void look_abandoningFailsToo_isDoneAtTheNextLook() {
    CacheWatch unlucky =
        new CacheWatch(
            life,
            loss -> {
              life.setAvailable(false);
              throw new LossAnnouncer.FailedException("away", new IllegalStateException());
            },
            statistics,
            clock.clock(),
            () -> CACHE_MILLIS);
    life.set(Warmth.COLD);
    unlucky.look();
    assertEquals(List.of(), life.abandoned());
    life.setAvailable(true);
    unlucky.look();

    assertEquals("g1", life.abandoned().get(0));
  }
}
