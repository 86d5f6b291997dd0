// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Of two aggregator processes one stands still for longer than its session, and goes on in the
 * belief that it counts what the other has taken over. With {@code -Dweir.rounds=N} N times, in
 * turn.
 */
final class StoppedOwnerIT {
  private static final int PARTITIONS = 4;
  private static final int ROUNDS = Integer.getInteger("weir.rounds", 1);

  @TempDir Path folder;

  @Test
  void reports_whenTheOwnerStandsStillAndGoesOn_areNeverSmaller() throws Exception {
    try (Broker broker = new Broker(PARTITIONS);
        Fleet fleet = new Fleet(broker, PARTITIONS, folder, 2);
        Traffic traffic = new Traffic(broker, PARTITIONS)) {
      fleet.awaitAllShare();
      try (Watch watch = new Watch(traffic, fleet.ports())) {
        for (int round = 0; round < ROUNDS; round++) {
          int victim = round % 2;
          int survivor = 1 - victim;
          Await.until("figures of all", () -> watch.leastFigure() > 0);
          watch.ask(List.of(fleet.port(survivor)));
          awaitRounds(watch);

          fleet.member(victim).pause();
          try {
            assertCurrentIsToldFromACopy(fleet, survivor, traffic);
            Await.until("taken over", () -> fleet.countsAll(survivor));
            long written = traffic.perClient();
            Await.until("counted on", () -> watch.leastFigure() >= written);
            // a question waits at the one that stands still, and is the first thing it answers
            watch.ask(fleet.ports());
            long asked = watch.asked(fleet.port(victim));
            Await.until("asked", () -> watch.asked(fleet.port(victim)) > asked);
          } finally {
            fleet.member(victim).resume();
          }
          awaitRounds(watch);
          fleet.awaitAllShare();
        }
        traffic.stop();
        for (int port : fleet.ports()) {
          Await.until("exact figures", () -> watch.isExact(port));
        }
        traffic.awaitLedger();
        System.out.println("stops=" + ROUNDS + " " + watch.summary());
        assertEquals(List.of(), watch.wrong());
        assertEquals(List.of(), watch.broken());
      }
    }
  }

  /** Waits until everybody has been asked for everybody. */
  private static void awaitRounds(Watch watch) throws Exception {
    long before = watch.answers();
    Await.until("answers", () -> watch.answers() > before + 4 * PARTITIONS);
  }

  /** Before its partitions are taken over. */
  private static void assertCurrentIsToldFromACopy(Fleet fleet, int survivor, Traffic traffic)
      throws Exception {
    Await.until(
        "some are told from a copy",
        () -> {
          int copies = 0;
          for (String client : traffic.clients()) {
            JsonNode current = fleet.document(survivor, "/v1/usage/" + client + "/current");
            boolean isCopy = current.path("copy").asBoolean();
            copies += isCopy && current.at("/buckets/0/used").asLong() > 0 ? 1 : 0;
          }
          return copies > 0;
        });
  }
}
