// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Restore, as docs/operate/recovery.md describes it: Kafka is lost while calls go on, a new one
 * gets the calls and the ledger of its mirror, and aggregator and ingest go on there.
 */
@FullSuite(reason = "two brokers, five processes; ChaosIT starts parts again over what they had")
final class RestoreIT {
  private static final int PARTITIONS = 4;
  private static final int CALLS = 1_500;
  private static final String WINDOW = "PT5S";
  private static final String CALLS_TOPIC = "weir.calls.v1";
  private static final String LEDGER = "weir.usage.ledger.v1";

  @TempDir private Path folder;
  private final TestRedis redis = TestRedis.start();
  private volatile String checkUrl = "";

  @AfterEach
  void closeRedis() {
    redis.close();
  }

  @Test
  void kafkaLost_itsMirrorCopiedToANewOne_rowsAreTheSameAndEveryAnswerIsBilledOnce()
      throws Exception {
    Instant begun = Instant.now();
    Caller caller = new Caller(() -> checkUrl);
    try (TestKafka lost = TestKafka.start();
        TestKafka restored = TestKafka.start()) {
      createTopics(lost);
      callUntilKafkaIsLost(caller, lost);
      lost.restart();
      Map<String, JsonNode> rowsBefore =
          new Reckoning(folder, lost.bootstrapServers(), WINDOW).ledgerRows();
      assertFalse(rowsBefore.isEmpty());

      createTopics(restored);
      restore(lost, restored);
      Reckoning reckoning = new Reckoning(folder, restored.bootstrapServers(), WINDOW);
      try (WeirProcess aggregator = aggregate(restored, "aggregator-2")) {
        String reports =
            "http://127.0.0.1:" + aggregator.awaitLine("aggregator is up, reports on port ");
        reckoning.assertNoDifference(begun, Instant.now(), "--after-reset");
        try (WeirProcess ingest = ingest(restored)) {
          caller.awaitAnswered(CALLS, ingest);
          caller.stop();
          Instant ended = Instant.now();
          reckoning.awaitClosed(reports, ended);
          reckoning.assertLedgerHoldsEveryAnswerOnce(caller);
          reckoning.assertVerified(begun, ended, "--after-reset");
          Map<String, JsonNode> rows = reckoning.ledgerRows();
          rowsBefore.forEach((id, row) -> assertEquals(row, rows.get(id)));
        }
      }
    } finally {
      caller.stop();
    }
  }

  /** The runbook of a lost ledger: create the topic, then reset the aggregators. */
  @Test
  void ledgerLost_recountedFromCalls_everyCallIsBilledOnce() throws Exception {
    Instant begun = Instant.now();
    Caller caller = new Caller(() -> checkUrl);
    try (TestKafka kafka = TestKafka.start()) {
      createTopics(kafka);
      Reckoning reckoning = new Reckoning(folder, kafka.bootstrapServers(), WINDOW);
      try (WeirProcess ingest = ingest(kafka)) {
        caller.start();
        try (WeirProcess aggregator = aggregate(kafka, "aggregator-1")) {
          String reports =
              "http://127.0.0.1:" + aggregator.awaitLine("aggregator is up, reports on port ");
          caller.awaitAnswered(CALLS, ingest);
          reckoning.awaitClosed(reports, Instant.now());
          follow(kafka);
          aggregator.kill();
        }
        long billedBefore = number("SELECT sum(quantity) FROM usage");
        assertTrue(billedBefore > 0);
        loseLedger(kafka);
        createTopics(kafka);
        try (WeirProcess aggregator = aggregate(kafka, "aggregator-2", "weir2-")) {
          String reports =
              "http://127.0.0.1:" + aggregator.awaitLine("aggregator is up, reports on port ");
          caller.awaitAnswered(CALLS, ingest);
          caller.stop();
          Instant ended = Instant.now();
          reckoning.awaitClosed(reports, ended);
          reckoning.assertLedgerHoldsEveryAnswerOnce(caller);
          reckoning.assertVerified(begun, ended, "--after-reset");
          follow(kafka);
          long sum = 0;
          for (JsonNode row : reckoning.ledgerRows().values()) {
            sum +=
                row.path("record_type").asText().equals("CLOSE")
                    ? 0
                    : row.path("quantity").asLong();
          }
          assertEquals(sum, number("SELECT sum(quantity) FROM usage"));
          assertTrue(sum > billedBefore);
        }
      }
    } finally {
      caller.stop();
    }
  }

  private void follow(TestKafka kafka) throws Exception {
    Map<String, String> environment =
        Map.of(
            "WEIR_KAFKA", kafka.bootstrapServers(), "BILLING_DB", folder.resolve("db").toString());
    try (WeirProcess job =
        WeirProcess.startMain(folder, environment, "BillingJob", "follow", "--until-end")) {
      assertEquals(0, job.awaitExit(), job::errors);
    }
  }

  private long number(String query) throws SQLException {
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("db"));
        Statement statement = db.createStatement();
        ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getLong(1);
    }
  }

  private static void loseLedger(TestKafka kafka) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin.deleteTopics(List.of(LEDGER)).all().get();
      Await.until(
          () -> "the ledger is still there",
          () -> !admin.listTopics().names().get().contains(LEDGER));
    }
  }

  /** Calls, kills the ingest node now and then, and ends with calls that its journal alone has. */
  private void callUntilKafkaIsLost(Caller caller, TestKafka kafka) throws Exception {
    try (WeirProcess aggregator = aggregate(kafka, "aggregator-1")) {
      String reports =
          "http://127.0.0.1:" + aggregator.awaitLine("aggregator is up, reports on port ");
      try (WeirProcess first = ingest(kafka)) {
        caller.start();
        caller.awaitAnswered(CALLS, first);
        first.kill();
      }
      try (WeirProcess second = ingest(kafka)) {
        caller.awaitAnswered(CALLS, second);
        new Reckoning(folder, kafka.bootstrapServers(), WINDOW).awaitClosed(reports, Instant.now());
        kafka.stop();
        caller.awaitAnswered(CALLS, second);
        second.kill();
        aggregator.kill();
      }
    }
  }

  private static void createTopics(TestKafka kafka) throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(PARTITIONS, Optional.empty());
    }
  }

  /** The steps of docs/operate/recovery.md. */
  private static void restore(TestKafka from, TestKafka to) throws Exception {
    Mirror mirror = new Mirror(from.bootstrapServers(), to.bootstrapServers());
    mirror.setTimestampType(CALLS_TOPIC, "CreateTime");
    assertTrue(mirror.copy(CALLS_TOPIC) > 0);
    mirror.setTimestampType(CALLS_TOPIC, "LogAppendTime");
    assertTrue(mirror.copy(LEDGER) > 0);
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(to.bootstrapServers()))) {
      assertEquals(List.of(), topics.differences());
    }
  }

  private WeirProcess aggregate(TestKafka kafka, String data) throws IOException {
    return aggregate(kafka, data, "weir-");
  }

  private WeirProcess aggregate(TestKafka kafka, String data, String prefix) throws IOException {
    return WeirProcess.start(
        folder,
        Map.of(
            "WEIR_APPLICATION_PREFIX",
            prefix,
            "WEIR_SINGLE_COPY",
            "allow",
            "WEIR_KAFKA",
            kafka.bootstrapServers(),
            "WEIR_DATA",
            folder.resolve(data).toString(),
            "WEIR_REPORTS_HOST",
            "127.0.0.1",
            "WEIR_REPORTS_PORT",
            "0",
            "WEIR_INSTANCE",
            "aggregator",
            "WEIR_WINDOW",
            WINDOW,
            "WEIR_GRACE",
            "PT2S"),
        "aggregate");
  }

  /** Starts the one ingest node there is, over its folder; calls go to it from now on. */
  private WeirProcess ingest(TestKafka kafka) throws IOException, InterruptedException {
    Path policies =
        Files.writeString(
            folder.resolve("policies.yml"),
            """
            policies:
              - name: tight
                match: {endpoint: ["GET *"]}
                limit: {algorithm: token-bucket, capacity: 20, refill_tokens: 1, refill_period: PT1M}
            """);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_STOP_DELAY", "PT0S");
    // no aggregator need be there to restore the cache
    environment.put("WEIR_READY_WAIT", "PT0S");
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_NODE", "node-1");
    environment.put("WEIR_DATA", folder.resolve("node-1").toString());
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_DECISION_DEADLINE", "PT2S");
    WeirProcess ingest = WeirProcess.start(folder, environment, "ingest");
    String port = ingest.awaitLine("ingest is ready on port ");
    checkUrl = "http://127.0.0.1:" + port + "/v1/check";
    return ingest;
  }
}
