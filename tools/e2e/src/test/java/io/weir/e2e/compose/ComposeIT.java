// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.compose;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.e2e.audit.Outcome;
import io.weir.e2e.audit.Rounds;
import io.weir.e2e.audit.Truth;
import io.weir.testing.Await;
import io.weir.testing.Checkout;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * The cluster of {@code docker-compose.yml}, as it is, under load and those faults that containers
 * treat differently from processes: restart, stop with a signal, start over a volume, and a network
 * that is cut. {@code ChaosIT} has the others. Runs only if the tests use containers, and then
 * fails if no Docker engine answers.
 */
@Timeout(1_800)
@EnabledIfSystemProperty(named = "weir.test.servers", matches = "containers")
final class ComposeIT {
  /** Some seconds of calls when all nodes answer. */
  private static final int MANY_CALLS = 1_000;

  /** Some seconds of calls when half of them wait for a node that does not answer. */
  private static final int FEW_CALLS = 20;

  @Test
  void composeCluster_underFaults_losesNothing_doublesNothing_andReportsRightly() throws Exception {
    try (ComposeCluster cluster = ComposeCluster.start(Checkout.root());
        Rounds rounds = Rounds.begin(cluster, 300, new Lines())) {
      ComposeProject project = cluster.project();
      Round round = (name, what) -> rounds.disturb(name, cluster.checkUrls(), what);

      round.of(
          "aggregator killed",
          truth -> {
            project.kill("aggregator-1");
            project.start("aggregator-1");
            cluster.awaitReady("aggregator-1");
          });
      round.of(
          "broker restarted",
          truth -> {
            project.restart("kafka");
            awaitAnswered(truth, FEW_CALLS);
            Instant before = Instant.now();
            // a node that stops drains its calls only while Kafka takes them
            for (String ingest : ComposeCluster.INGEST) {
              cluster.awaitConfirmed(ingest, before);
            }
          });
      round.of("Redis restarted", truth -> project.restart("redis"));
      round.of(
          "ingest stopped in order",
          truth -> {
            stopInOrder(project, "ingest-1");
            project.start("ingest-1");
            cluster.awaitReady("ingest-1");
          });
      round.of(
          "ingest cut off",
          truth -> {
            project.cut("ingest-2");
            awaitAnswered(truth, MANY_CALLS);
            project.join("ingest-2");
            cluster.awaitReady("ingest-2");
          });

      Outcome outcome = rounds.audit();
      outcome.print(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
      assertEquals(List.of(), outcome.details().stream().limit(20).toList());
      assertTrue(outcome.isRight());
    }
  }

  /** Runs a round. */
  private interface Round {
    void of(String name, Rounds.Disturbance what);
  }

  private static void awaitAnswered(Truth truth, int more) throws Exception {
    long goal = truth.answered() + more;
    Await.until("calls go on", () -> truth.answered() >= goal);
  }

  private static void stopInOrder(ComposeProject project, String service) throws Exception {
    Instant begun = Instant.now();
    assertEquals(0, project.stop(service), "exit status of " + service);
    String logs = project.logs(service, begun);
    assertTrue(logs.contains(" drained"), logs);
  }

  private record Lines() implements Rounds.Progress {
    @Override
    public void begins(int round, String name) {
      System.out.println("round " + round + ": " + name);
    }

    @Override
    public void ended(int round, String name, long answered, long failed, List<String> notes) {
      System.out.println("  " + answered + " answered, " + failed + " failed " + notes);
    }
  }
}
