// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.SecuredKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * All processes over a broker that asks each who it is, by SCRAM over TLS, and allows what the
 * documentation tells operators to allow, and nothing else.
 */
final class SecuredKafkaIT {
  private static final String WINDOW = "PT5S";
  private static final String PASSWORD = "p-4711";
  private static final int CALLS = 1_000;

  private static SecuredKafka kafka;
  private static TestRedis redis;
  private static Map<String, Path> properties;
  private static List<AclBinding> acls;

  @TempDir private static Path folder;

  @BeforeAll
  static void start() throws Exception {
    kafka = SecuredKafka.start();
    redis = TestRedis.start();
    properties = new HashMap<>();
    for (String user : List.of("weir-admin", "weir-ingest", "weir-aggregator", "weir-audit")) {
      properties.put(user, kafka.user(user, PASSWORD));
    }
    acls = DocumentedAcls.read();
    assertFalse(acls.isEmpty());
    kafka.allow(acls);
  }

  @AfterAll
  static void stop() {
    redis.close();
    kafka.close();
  }

  private static Map<String, String> environment(String user) {
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_KAFKA_CONFIG", String.valueOf(properties.get(user)));
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_WINDOW", WINDOW);
    environment.put("WEIR_LOG", "INFO");
    return environment;
  }

  private static Map<String, String> ingest(String node) throws Exception {
    Map<String, String> environment = environment("weir-ingest");
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_NODE", node);
    environment.put("WEIR_DATA", folder.resolve(node).toString());
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", "0");
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

  private static Map<String, String> aggregator(String name) {
    Map<String, String> environment = environment("weir-aggregator");
    environment.put("WEIR_INSTANCE", name);
    environment.put("WEIR_DATA", folder.resolve(name).toString());
    environment.put("WEIR_REPORTS_HOST", "127.0.0.1");
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_GRACE", "PT2S");
    return environment;
  }

  private static WeirProcess run(String user, String... arguments) throws Exception {
    WeirProcess process = WeirProcess.start(folder, environment(user), arguments);
    assertEquals(0, process.awaitExit(), () -> process.output() + process.errors());
    return process;
  }

  @Test
  void calls_throughABrokerThatAllowsTheLeast_areCountedExactly() throws Exception {
    run("weir-admin", "topics", "create", "--partitions", "2");
    run("weir-admin", "topics", "check");
    Instant begun = Instant.now();
    try (WeirProcess counting = WeirProcess.start(folder, aggregator("a"), "aggregate");
        WeirProcess node = WeirProcess.start(folder, ingest("n"), "ingest")) {
      String port = node.awaitLine("ingest is ready on port ");
      String reports =
          "http://127.0.0.1:" + counting.awaitLine("aggregator is up, reports on port ");
      Caller caller = new Caller(() -> "http://127.0.0.1:" + port + "/v1/check");
      caller.start();
      caller.awaitAnswered(CALLS, node);
      caller.stop();
      Instant ended = Instant.now();

      Reckoning reckoning = new Reckoning(folder, kafka.openServers(), WINDOW);
      try {
        reckoning.awaitClosed(reports, ended);
      } catch (AssertionError notClosed) {
        throw new AssertionError(node.errors() + counting.errors(), notClosed);
      }
      reckoning.assertLedgerHoldsEveryAnswerOnce(caller);
      run(
          "weir-audit",
          "verify",
          "--from",
          begun.minusSeconds(60).toString(),
          "--to",
          ended.toString());
      run("weir-admin", "policies", "export");
      run("weir-admin", "clients", "set", "acme", "--time-zone", "Europe/Paris");
      run("weir-audit", "ledger", "tail", "--from-beginning");
      run("weir-audit", "quarantine", "list");
      for (WeirProcess process : List.of(counting, node)) {
        process.terminate();
        assertEquals(0, process.awaitExit(), process::errors);
        assertFalse(process.errors().contains("uthoriz"), process::errors);
      }
    }
  }

  /** One right less for each process, and each says which. */
  @Test
  void processWithOneRightTooFew_saysWhich() throws Exception {
    run("weir-admin", "topics", "create", "--partitions", "2");
    AclBinding configs = allowed("weir-aggregator", AclOperation.DESCRIBE_CONFIGS, "weir.");
    AclBinding group = allowed("weir-ingest", AclOperation.READ, "weir-corrections");
    AclBinding read = allowed("weir-audit", AclOperation.READ, "weir.");
    AclBinding publish = allowed("weir-admin", AclOperation.WRITE, "weir-policies");
    for (AclBinding acl : List.of(configs, group, read, publish)) {
      kafka.disallow(acl);
    }
    try (WeirProcess counting = WeirProcess.start(folder, aggregator("b"), "aggregate");
        WeirProcess verify =
            WeirProcess.start(
                folder,
                environment("weir-audit"),
                "verify",
                "--from",
                "2026-01-01T00:00:00Z",
                "--to",
                "2026-01-02T00:00:00Z");
        WeirProcess apply =
            WeirProcess.start(
                folder,
                environment("weir-admin"),
                "policies",
                "apply",
                ingest("m").get("WEIR_POLICIES"));
        WeirProcess node = WeirProcess.start(folder, ingest("m"), "ingest")) {
      assertEquals(1, counting.awaitExit());
      assertSays(counting.errors(), "lacks DescribeConfigs on a topic");
      assertEquals(1, verify.awaitExit());
      assertSays(verify.errors(), "lacks Read on the topic weir.calls.v1");
      assertEquals(1, apply.awaitExit());
      assertSays(apply.errors(), "lacks Write on the transactional id");
      Await.until(
          node::errors, () -> node.errors().contains("lacks Read on the group weir-corrections"));
      node.terminate();
      assertEquals(0, node.awaitExit());
    } finally {
      kafka.allow(List.of(configs, group, read, publish));
    }
  }

  private static void assertSays(String errors, String part) {
    assertTrue(errors.contains(part), errors);
  }

  private static AclBinding allowed(String user, AclOperation operation, String resource) {
    return acls.stream()
        .filter(acl -> acl.entry().principal().equals("User:" + user))
        .filter(acl -> acl.entry().operation() == operation)
        .filter(acl -> acl.pattern().name().equals(resource))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void passwordThatIsWrong_isToldAsSuch() throws Exception {
    Map<String, String> environment = environment("weir-audit");
    environment.put(
        "WEIR_KAFKA_SASL_JAAS_CONFIG",
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
            + " username=\"weir-audit\" password=\"wrong\";");
    WeirProcess ledger =
        WeirProcess.start(folder, environment, "ledger", "tail", "--from-beginning");
    assertEquals(1, ledger.awaitExit());
    assertSays(ledger.errors(), "Kafka does not accept the credentials");
    assertFalse(ledger.errors().contains("wrong"), ledger.errors());
  }
}
