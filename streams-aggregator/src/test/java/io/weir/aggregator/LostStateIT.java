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
 * Two aggregator processes are killed, and started again when the disk of one is lost. With {@code
 * -Dweir.rounds=N} N times, in turn.
 */
@FullSuite(reason = "waits for sessions to end; KilledOwnerIT kills one, whose disk stays")
final class LostStateIT {
  private static final int PARTITIONS = 4;
  private static final int ROUNDS = Integer.getInteger("weir.rounds", 1);

  @TempDir Path folder;

  @Test
  void reports_whenBothAreKilledAndAStateIsLost_areNeverSmaller_andBecomeExact() throws Exception {
    try (Broker broker = new Broker(PARTITIONS);
        Fleet fleet = new Fleet(broker, PARTITIONS, folder, 2, Fleet.SHORT_SESSION);
        Traffic traffic = new Traffic(broker, PARTITIONS, "busy")) {
      fleet.awaitAllShare();
      try (Watch watch = new Watch(traffic, fleet.ports())) {
        watch.askOnlyReady();
        for (int round = 0; round < ROUNDS; round++) {
          int loser = round % 2;
          Await.until("figures", () -> watch.leastFigure() > 0);
          fleet.member(loser).kill();
          fleet.member(1 - loser).kill();
          fleet.loseState(loser);
          fleet.member(loser).restart();
          fleet.member(1 - loser).restart();
          long written = traffic.perClient();
          Await.until("counted on", () -> watch.leastFigure() >= written);
          fleet.awaitCaughtUp(loser);
        }
        traffic.stop();
        for (int port : fleet.ports()) {
          Await.until("exact figures", () -> watch.isExact(port));
        }
        traffic.awaitLedger();
        System.out.println("losses=" + ROUNDS + " " + watch.summary());
        assertEquals(List.of(), watch.wrong());
      }
    }
  }
}
