// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Of two aggregator processes one is away while calls and questions go on, and comes back within
 * its session, which outlasts the test: whatever is answered meanwhile is answered by the other out
 * of what it has copied, for it has taken nothing over.
 */
final class AwayOwnerIT {
  private static final int PARTITIONS = 4;
  private static final int VICTIM = 0;
  private static final int SURVIVOR = 1;

  @TempDir static Path folder;

  private static Broker broker;
  private static Fleet fleet;

  @BeforeAll
  static void start() throws Exception {
    broker = new Broker(PARTITIONS);
    fleet = new Fleet(broker, PARTITIONS, folder, 2, Fleet.ENDLESS_SESSION);
  }

  @AfterAll
  static void stop() {
    fleet.close();
    broker.close();
  }

  @BeforeEach
  void awaitAllHaveAll() throws Exception {
    fleet.awaitAllHaveAll();
  }

  @Test
  @FullSuite(reason = "waits for sessions to end; KilledOwnerIT, which always runs, kills an owner")
  void reports_ownerKilled_areAnsweredByTheOther_andExactAfterItsRestart() throws Exception {
    try (Traffic traffic = new Traffic(broker, PARTITIONS, "killed");
        Watch watch = new Watch(traffic, fleet.ports())) {
      Await.until("figures of all", () -> watch.leastFigure() > 0);
      Await.until("copies", () -> isToldFromACopy(traffic, "Weir-Forwarded", "1"));

      fleet.member(VICTIM).kill();
      assertOtherAnswers(traffic, watch);

      long written = traffic.perClient();
      fleet.member(VICTIM).restart();
      Await.until("counted on", () -> watch.leastFigure() >= written);
      awaitExact(traffic, watch);
      assertEquals(List.of(), watch.wrong());
    }
  }

  @Test
  void reports_ownerPaused_areAnsweredByTheOther_andContinueAfterItResumes() throws Exception {
    try (Traffic traffic = new Traffic(broker, PARTITIONS, "still");
        Watch watch = new Watch(traffic, fleet.ports())) {
      Await.until("figures of all", () -> watch.leastFigure() > 0);
      Await.until("copies", () -> isToldFromACopy(traffic, "Weir-Forwarded", "1"));
      watch.ask(List.of(fleet.port(SURVIVOR)));
      watch.awaitRounds();

      fleet.member(VICTIM).pause();
      try {
        assertOtherAnswers(traffic, watch);
        // a request waits at the suspended instance, and is the first that it answers
        watch.ask(fleet.ports());
        long asked = watch.asked(fleet.port(VICTIM));
        Await.until("asked", () -> watch.asked(fleet.port(VICTIM)) > asked);
      } finally {
        fleet.member(VICTIM).resume();
      }
      long written = traffic.perClient();
      Await.until("counted on", () -> watch.leastFigure() >= written);
      watch.awaitRounds();
      awaitExact(traffic, watch);
      assertEquals(List.of(), watch.wrong());
      assertEquals(List.of(), watch.broken());
    }
  }

  private static void assertOtherAnswers(Traffic traffic, Watch watch) throws Exception {
    long awayNanos = System.nanoTime();
    Await.until("all clients are answered", () -> watch.answeredSince(awayNanos));
    Await.until("some are reported from a copy", () -> isToldFromACopy(traffic));
    assertFalse(fleet.countsAll(SURVIVOR), "nothing is taken over before the session ends");
  }

  /** Of one client at least; a bucket that once stands so takes minutes to look full again. */
  private static boolean isToldFromACopy(Traffic traffic, String... headers) throws Exception {
    for (String client : traffic.clients()) {
      Optional<JsonNode> current =
          fleet.document(SURVIVOR, "/v1/usage/" + client + "/current", headers);
      if (current.isPresent()
          && current.get().path("copy").asBoolean()
          && current.get().at("/buckets/0/used").asLong() > 50) {
        return true;
      }
    }
    return false;
  }

  private static void awaitExact(Traffic traffic, Watch watch) throws Exception {
    traffic.stop();
    for (int port : fleet.ports()) {
      Await.until("exact figures", () -> watch.isExact(port));
    }
    traffic.awaitLedger();
    System.out.println(watch.summary());
  }
}
