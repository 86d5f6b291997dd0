// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Of two aggregator processes one stands still for longer than its session, and goes on in the
 * belief that it counts what the other has taken over. With {@code -Dweir.rounds=N} N times, in
 * turn.
 */
@FullSuite(
    reason = "waits for sessions to end; AwayOwnerIT has one stand still, KilledOwnerIT a takeover")
final class StoppedOwnerIT {
  private static final int PARTITIONS = 4;
  private static final int ROUNDS = Integer.getInteger("weir.rounds", 1);

  @TempDir Path folder;

  @Test
  void reports_ownerPausedAndResumed_neverDecrease() throws Exception {
    try (Broker broker = new Broker(PARTITIONS);
        Fleet fleet = new Fleet(broker, PARTITIONS, folder, 2, Fleet.SHORT_SESSION);
        Traffic traffic = new Traffic(broker, PARTITIONS, "busy")) {
      try (Watch watch = new Watch(traffic, fleet.ports())) {
        for (int round = 0; round < ROUNDS; round++) {
          int victim = round % 2;
          int survivor = 1 - victim;
          fleet.awaitAllShare();
          Await.until("figures of all", () -> watch.leastFigure() > 0);
          watch.ask(List.of(fleet.port(survivor)));
          watch.awaitRounds();

          fleet.member(victim).pause();
          try {
            Await.until("taken over", () -> fleet.countsAll(survivor));
            long written = traffic.perClient();
            Await.until("counted on", () -> watch.leastFigure() >= written);
            // a request waits at the suspended instance, and is the first that it answers
            watch.ask(fleet.ports());
            long asked = watch.asked(fleet.port(victim));
            Await.until("asked", () -> watch.asked(fleet.port(victim)) > asked);
          } finally {
            fleet.member(victim).resume();
          }
          watch.awaitRounds();
          fleet.awaitCaughtUp(victim);
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
}
