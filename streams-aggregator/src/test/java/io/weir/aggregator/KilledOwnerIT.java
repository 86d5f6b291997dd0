// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.Ports;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Of two aggregator processes one is killed, again and again, while calls and questions go on. With
 * {@code -Dweir.kills=N} it measures more than the few kills of a test run.
 */
final class KilledOwnerIT {
  private static final int PARTITIONS = 4;
  private static final int KILLS = Integer.getInteger("weir.kills", 2);
  private static final String COUNTED = "weir_partitions{role=\"counted\"}";
  private static final String READABLE = "weir_partitions{role=\"readable\"}";

  /** Far more than it takes, for a slow machine; far less than the session. */
  private static final Duration MAX_UNANSWERED = Duration.ofSeconds(8);

  @TempDir Path folder;

  @Test
  void reports_whenTheOwnerIsKilled_areAnsweredByTheOtherAndNeverSmaller() throws Exception {
    List<Integer> ports = List.of(Ports.free(), Ports.free());
    List<Long> unansweredMillis = new ArrayList<>();
    List<Long> takeoverMillis = new ArrayList<>();
    try (Broker broker = new Broker(PARTITIONS);
        AggregatorProcess one = start(broker, 0, ports.get(0));
        AggregatorProcess two = start(broker, 1, ports.get(1));
        Traffic traffic = new Traffic(broker, PARTITIONS)) {
      Watch warmUp = new Watch(traffic, ports);
      awaitBothShare(warmUp, ports);
      warmUp.close();
      try (Watch watch = new Watch(traffic, ports)) {
        for (int kill = 0; kill < KILLS; kill++) {
          AggregatorProcess victim = kill % 2 == 0 ? one : two;
          int survivor = ports.get(1 - kill % 2);
          long answersBefore = watch.answers();
          Await.until("some answers", () -> watch.answers() > answersBefore + 50);

          long killedNanos = System.nanoTime();
          victim.kill();
          Await.until("all clients are answered", () -> watch.answeredSince(killedNanos));
          unansweredMillis.add(watch.longestWaitMillis(killedNanos));
          Await.until(
              "taken over",
              () -> watch.metric(survivor, COUNTED) == PARTITIONS && isRunning(watch, survivor));
          takeoverMillis.add(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - killedNanos));
          long written = traffic.perClient();
          Await.until("counted on", () -> watch.leastFigure() >= written);
          victim.restart();
          awaitBothShare(watch, ports);
        }
        traffic.stop();
        for (int port : ports) {
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

  private static boolean isRunning(Watch watch, int port) throws InterruptedException {
    return watch.metric(port, "weir_streams_running{application=\"meter-core\"}") == 1;
  }

  private static void awaitBothShare(Watch watch, List<Integer> ports) throws Exception {
    for (int port : ports) {
      Await.until(
          "both count and both can tell everything",
          Duration.ofMinutes(4),
          () ->
              watch.metric(port, COUNTED) > 0
                  && isRunning(watch, port)
                  && watch.metric(port, READABLE) == PARTITIONS);
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

  private AggregatorProcess start(Broker broker, int which, int port) throws Exception {
    return new AggregatorProcess(
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
            "node-" + which),
        folder.resolve("log-" + which));
  }
}
