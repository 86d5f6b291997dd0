// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three aggregator processes are stopped in order and started again, one after the other, while
 * calls and questions go on. With {@code -Dweir.rounds=N} all of them N times.
 */
@FullSuite(reason = "starts six processes; AwayOwnerIT has one of two stand still and go on")
final class RollingRestartIT {
  private static final int PARTITIONS = 6;
  private static final int SIZE = 3;
  private static final int ROUNDS = Integer.getInteger("weir.rounds", 1);

  @TempDir Path folder;

  @Test
  void reports_duringRollingRestarts_areAllAnsweredAndNeverSmaller() throws Exception {
    try (Broker broker = new Broker(PARTITIONS);
        Fleet fleet = new Fleet(broker, PARTITIONS, folder, SIZE, Fleet.ENDLESS_SESSION);
        Traffic traffic = new Traffic(broker, PARTITIONS, "busy")) {
      fleet.awaitAllShare();
      for (int i = 0; i < SIZE; i++) {
        fleet.awaitCaughtUp(i);
      }
      try (Watch watch = new Watch(traffic, fleet.ports())) {
        for (int i = 0; i < ROUNDS * SIZE; i++) {
          int which = i % SIZE;
          awaitAnswers(watch, 50);
          fleet.member(which).terminate();
          awaitAnswers(watch, 50);
          fleet.member(which).restart();
          fleet.awaitCaughtUp(which);
        }
        traffic.stop();
        for (int port : fleet.ports()) {
          Await.until("exact figures", () -> watch.isExact(port));
        }
        traffic.awaitLedger();
        System.out.println("restarts=" + ROUNDS * SIZE + " " + watch.summary());
        assertEquals(List.of(), watch.wrong());
        assertEquals(List.of(), watch.broken());
        assertTrue(watch.cutLate() <= (long) ROUNDS * SIZE, watch::summary);
      }
    }
  }

  private static void awaitAnswers(Watch watch, int more) throws Exception {
    long before = watch.answers();
    Await.until(more + " answers", () -> watch.answers() > before + more);
  }
}
