// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.weir.servers.testing.SecuredKafka;
import io.weir.servers.testing.TestRedis;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.acl.AclBinding;

/**
 * All processes over a broker that asks each who it is, and allows what the documentation tells
 * operators to allow, and nothing else.
 */
final class SecuredProcesses implements AutoCloseable {
  static final String PASSWORD = "p-4711";

  private static final String WINDOW = "PT5S";

  private final SecuredKafka kafka;
  private final TestRedis redis;
  private final Path folder;
  private final Map<String, Path> properties = new HashMap<>();
  private final List<AclBinding> acls;

  SecuredProcesses(SecuredKafka.Identity identity, Path folder) throws Exception {
    this.folder = folder;
    acls = DocumentedAcls.read();
    assertFalse(acls.isEmpty());
    kafka = SecuredKafka.start(identity);
    redis = TestRedis.start();
    for (String user : List.of("weir-admin", "weir-ingest", "weir-aggregator", "weir-audit")) {
      properties.put(user, kafka.user(user, PASSWORD));
    }
    kafka.allow(acls);
  }

  SecuredKafka kafka() {
    return kafka;
  }

  /** Returns what is granted. */
  List<AclBinding> acls() {
    return acls;
  }

  @Override
  public void close() {
    redis.close();
    kafka.close();
  }

  Map<String, String> environment(String user) {
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_KAFKA_CONFIG", String.valueOf(properties.get(user)));
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_WINDOW", WINDOW);
    environment.put("WEIR_LOG", "INFO");
    return environment;
  }

  Map<String, String> ingest(String node) throws Exception {
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

  Map<String, String> aggregator(String name) {
    Map<String, String> environment = environment("weir-aggregator");
    environment.put("WEIR_INSTANCE", name);
    environment.put("WEIR_DATA", folder.resolve(name).toString());
    environment.put("WEIR_REPORTS_HOST", "127.0.0.1");
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_GRACE", "PT2S");
    return environment;
  }

  WeirProcess run(String user, String... arguments) throws Exception {
    WeirProcess process = WeirProcess.start(folder, environment(user), arguments);
    assertEquals(0, process.awaitExit(), () -> process.output() + process.errors());
    return process;
  }

  /** Makes calls, and requires the counts to be exact, by every command and process. */
  void assertCallsAreCountedExactly(int calls) throws Exception {
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
      caller.awaitAnswered(calls, node);
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
}
