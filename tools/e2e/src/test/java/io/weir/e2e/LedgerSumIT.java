// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.e2e.billing.ConnectWorker;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestPostgres;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** From calls to a bill in SQL, while each process on the way is killed. */
final class LedgerSumIT {
  private static final String WINDOW = "PT5S";
  private static final int CALLS = 1_000;
  private static final Pattern QUANTITY = Pattern.compile("quantity (\\d+), over all meters");

  @TempDir private Path folder;

  @Test
  @FullSuite(
      reason =
          "six processes under load; LedgerToPostgresIT, which always runs, kills the worker, and"
              + " KilledNodeIT and KilledOwnerIT the others")
  void sumOfTheTable_isWhatVerifyRecounts_afterKills() throws Exception {
    assumeTrue(TestPostgres.isInstalled(), "no PostgreSQL: apt-get install postgresql");
    try (TestKafka kafka = TestKafka.borrow();
        TestRedis redis = TestRedis.borrow();
        TestPostgres postgres = TestPostgres.start()) {
      postgres.runFile(ConnectWorker.TABLE);
      Map<String, String> environment = environment(kafka, redis);
      try (WeirProcess create =
          WeirProcess.start(folder, environment, "topics", "create", "--partitions", "2")) {
        assertEquals(0, create.awaitExit(), create::errors);
      }
      Instant begun = Instant.now();
      Instant ended = callAndKill(environment, kafka, postgres);
      long quantity = recount(environment, begun, ended);

      try (WeirProcess worker = ConnectWorker.start(folder, kafka.bootstrapServers(), postgres)) {
        List<String> expected = List.of(Long.toString(quantity));
        Await.until(
            () ->
                "a sum of %d, it is %s, of a worker that says %s"
                    .formatted(quantity, sum(postgres), worker.errors()),
            () -> {
              assertTrue(worker.isAlive(), worker::errors);
              return sum(postgres).equals(expected);
            });
      }
    }
  }

  /** Calls; meanwhile kills a node, an aggregator and a worker, and starts the first two again. */
  private Instant callAndKill(
      Map<String, String> environment, TestKafka kafka, TestPostgres postgres) throws Exception {
    WeirProcess node = WeirProcess.start(folder, environment, "ingest");
    WeirProcess aggregator = WeirProcess.start(folder, environment, "aggregate");
    try (WeirProcess worker = ConnectWorker.start(folder, kafka.bootstrapServers(), postgres)) {
      String[] port = {node.awaitLine("ingest is ready on port ")};
      aggregator.awaitLine("aggregator is up, reports on port ");
      Caller caller = new Caller(() -> "http://127.0.0.1:" + port[0] + "/v1/check");
      caller.start();
      caller.awaitAnswered(CALLS, node);
      Await.until(
          () -> "a first row, of a worker that says " + worker.errors(),
          () -> !sum(postgres).equals(List.of("")));
      worker.kill();
      aggregator.kill();
      node.kill();
      node = WeirProcess.start(folder, environment, "ingest");
      aggregator = WeirProcess.start(folder, environment, "aggregate");
      port[0] = node.awaitLine("ingest is ready on port ");
      String reports =
          "http://127.0.0.1:" + aggregator.awaitLine("aggregator is up, reports on port ");
      caller.awaitAnswered(CALLS, node);
      caller.stop();
      // the whole window of the last call
      Instant ended = Instant.now().plus(Duration.parse(WINDOW));
      Reckoning reckoning = new Reckoning(folder, kafka.bootstrapServers(), WINDOW);
      reckoning.awaitClosed(reports, ended);
      reckoning.assertLedgerHoldsEveryAnswerOnce(caller);
      return ended;
    } finally {
      node.close();
      aggregator.close();
    }
  }

  /** Returns the quantity that {@code weir verify} counts. */
  private long recount(Map<String, String> environment, Instant begun, Instant ended)
      throws Exception {
    try (WeirProcess verify =
        WeirProcess.start(
            folder,
            environment,
            "verify",
            "--from",
            begun.minusSeconds(60).toString(),
            "--to",
            ended.toString())) {
      assertEquals(0, verify.awaitExit(), () -> verify.output() + verify.errors());
      Matcher quantity = QUANTITY.matcher(String.join("\n", verify.output()));
      assertTrue(quantity.find(), () -> verify.output().toString());
      return Long.parseLong(quantity.group(1));
    }
  }

  private static List<String> sum(TestPostgres postgres) {
    return postgres.query("SELECT sum(quantity) FROM weir_ledger, pg_sleep(0.2)");
  }

  private Map<String, String> environment(TestKafka kafka, TestRedis redis) throws Exception {
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_WINDOW", WINDOW);
    environment.put("WEIR_GRACE", "PT2S");
    environment.put("WEIR_NODE", "n");
    environment.put("WEIR_INSTANCE", "a");
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_STOP_DELAY", "PT0S");
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    environment.put(
        "WEIR_POLICIES",
        Files.writeString(
                folder.resolve("policies.yml"),
                """
                policies:
                  - name: tight
                    match: {endpoint: ["GET *"]}
                    limit: {algorithm: token-bucket, capacity: 20, refill_tokens: 1, refill_period: PT1M}
                """)
            .toString());
    return environment;
  }
}
