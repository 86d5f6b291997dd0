// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.testing.Await;
import io.weir.testing.SuiteForm;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Kills one of two aggregator processes for longer than its session, while calls and queries
 * continue. With {@code -Dweir.kills=N}, kills them N times, in turn, and prints how long each step
 * took. {@link AwayOwnerIT} tests that the other process responds before it takes over.
 */
final class KilledOwnerIT {
  private static final int PARTITIONS = 4;
  private static final int KILLS = Integer.getInteger("weir.kills", SuiteForm.isFull() ? 2 : 1);

  @TempDir Path folder;

  @Test
  void partitions_whenTheOwnerIsKilled_areTakenOver_andReportsAreNeverSmaller() throws Exception {
    List<Long> unansweredMillis = new ArrayList<>();
    List<Long> takeoverMillis = new ArrayList<>();
    try (Broker broker = new Broker(PARTITIONS);
        Fleet fleet = new Fleet(broker, PARTITIONS, folder, 2, Fleet.SHORT_SESSION);
        Traffic traffic = new Traffic(broker, PARTITIONS, "busy")) {
      try (Watch watch = new Watch(traffic, fleet.ports())) {
        for (int kill = 0; kill < KILLS; kill++) {
          int victim = kill % 2;
          int survivor = 1 - victim;
          fleet.awaitAllHaveAll();
          long answersBefore = watch.answers();
          Await.until("some answers", () -> watch.answers() > answersBefore + 50);

          long killedNanos = System.nanoTime();
          fleet.member(victim).kill();
          Await.until("all clients are answered", () -> watch.answeredSince(killedNanos));
          unansweredMillis.add(watch.longestWaitMillis(killedNanos));
          Await.until("taken over", () -> fleet.countsAll(survivor));
          takeoverMillis.add(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - killedNanos));
          long written = traffic.perClient();
          Await.until("counted on", () -> watch.leastFigure() >= written);
          fleet.member(victim).restart();
          fleet.awaitCaughtUp(victim);
        }
        traffic.stop();
        for (int port : fleet.ports()) {
          Await.until("exact figures", () -> watch.isExact(port));
        }
        traffic.awaitLedger();
        System.out.println(
            "kills="
                + KILLS
                + " "
                + watch.summary()
                + " unanswered_ms="
                + percentiles(unansweredMillis)
                + " takeover_ms="
                + percentiles(takeoverMillis));
        assertEquals(List.of(), watch.wrong());
      }
    }
  }

  private static String percentiles(List<Long> millis) {
    List<Long> sorted = millis.stream().sorted().toList();
    return "p50:"
        + sorted.get((sorted.size() - 1) / 2)
        + ",p99:"
        + sorted.get((sorted.size() * 99 + 99) / 100 - 1)
        + ",max:"
        + sorted.get(sorted.size() - 1);
  }
}
