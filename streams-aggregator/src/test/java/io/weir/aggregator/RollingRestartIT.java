// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.Ports;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two aggregators are restarted one after the other while calls and questions go on. */
final class RollingRestartIT {
  private static final int PARTITIONS = 4;
  private static final int ROUNDS = 2;

  @TempDir Path folder;

  @Test
  void reports_duringRollingRestarts_areAllAnsweredAndNeverSmaller() throws Exception {
    List<Integer> ports = List.of(Ports.free(), Ports.free());
    try (Broker broker = new Broker(PARTITIONS)) {
      Aggregator[] running = new Aggregator[2];
      for (int i = 0; i < 2; i++) {
        running[i] = start(broker, i, ports.get(i));
      }
      for (Aggregator one : running) {
        Await.until("ready", () -> one.ready() && has(one, PARTITIONS));
      }
      try (Traffic traffic = new Traffic(broker, PARTITIONS);
          Watch watch = new Watch(traffic, ports)) {
        for (int round = 0; round < ROUNDS * 2; round++) {
          int which = round % 2;
          long answersBefore = watch.answers();
          Await.until("some answers", () -> watch.answers() > answersBefore + 100);
          running[which].close();
          long answersAlone = watch.answers();
          Await.until("answers of the other", () -> watch.answers() > answersAlone + 50);
          running[which] = start(broker, which, ports.get(which));
          Aggregator again = running[which];
          Await.until("ready again", () -> again.ready() && has(again, PARTITIONS));
        }
        traffic.stop();
        for (int port : ports) {
          Await.until("exact figures", () -> watch.isExact(port));
        }
        traffic.awaitLedger();
        System.out.println("rolling restarts: " + watch.summary());
        assertEquals(List.of(), watch.wrong());
        assertEquals(List.of(), watch.broken());
        assertTrue(watch.answers() > 500);
      } finally {
        for (Aggregator one : running) {
          one.close();
        }
      }
    }
  }

  private static boolean has(Aggregator one, int partitions) throws Exception {
    return Reports.metric(one, "weir_partitions{role=\"readable\"}") == partitions;
  }

  private Aggregator start(Broker broker, int which, int port) throws Exception {
    return Aggregator.start(
        AggregatorConfig.of(
            Map.of(
                "WEIR_KAFKA",
                broker.bootstrapServers(),
                "WEIR_DATA",
                folder.resolve("data-" + which).toString(),
                "WEIR_REPORTS_PORT",
                Integer.toString(port),
                "WEIR_WINDOW",
                "PT2S",
                "WEIR_GRACE",
                "PT1S",
                "WEIR_INSTANCE",
                "node-" + which)));
  }
}
