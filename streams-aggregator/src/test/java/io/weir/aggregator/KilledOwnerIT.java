// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Of two aggregator processes one is killed, again and again, while calls and questions go on. With
 * {@code -Dweir.kills=N} it measures more than the few kills of a test run.
 */
@Tag("slow")
final class KilledOwnerIT {
  private static final int PARTITIONS = 4;
  private static final int KILLS = Integer.getInteger("weir.kills", 2);

  /** Far more than it takes, for a slow machine; far less than the session. */
  private static final Duration MAX_UNANSWERED = Duration.ofSeconds(8);

  @TempDir Path folder;

  @Test
  void reports_whenTheOwnerIsKilled_areAnsweredByTheOtherAndNeverSmaller() throws Exception {
    List<Long> unansweredMillis = new ArrayList<>();
    List<Long> takeoverMillis = new ArrayList<>();
    try (Broker broker = new Broker(PARTITIONS);
        Fleet fleet = new Fleet(broker, PARTITIONS, folder, 2);
        Traffic traffic = new Traffic(broker, PARTITIONS)) {
      awaitBothHaveAll(fleet);
      try (Watch watch = new Watch(traffic, fleet.ports())) {
        for (int kill = 0; kill < KILLS; kill++) {
          int victim = kill % 2;
          int survivor = 1 - victim;
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
          awaitBothHaveAll(fleet);
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
        assertTrue(
            Collections.max(unansweredMillis) < MAX_UNANSWERED.toMillis(),
            unansweredMillis.toString());
      }
    }
  }

  private static void awaitBothHaveAll(Fleet fleet) throws Exception {
    fleet.awaitAllShare();
    for (int i = 0; i < 2; i++) {
      int member = i;
      Await.until("all can be told", () -> fleet.readable(member) == PARTITIONS);
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
