// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.access.BearerToken;
import io.weir.access.Grant;
import io.weir.access.Scope;
import io.weir.access.TokenFile;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.servers.Ports;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import io.weir.testing.CoreSuite;
import io.weir.testing.FullSuite;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands, as a person at a terminal meets them. */
final class CommandsIT {
  @TempDir private Path folder;

  /** In a Turkish locale, in which Kafka's broker once did not start. */
  @Test
  @CoreSuite
  void demo_json_exitsZeroAndEveryFigureAgrees() throws Exception {
    try (WeirProcess demo =
        WeirProcess.startMain(
            folder,
            Map.of(
                "WEIR_DATA", folder.resolve("data").toString(), "WEIR_DECISION_DEADLINE", "PT10S"),
            List.of("-Duser.language=tr", "-Duser.country=TR"),
            WeirProcess.COMMANDS,
            "demo",
            "--json",
            "--seconds",
            "6")) {
      assertEquals(0, demo.awaitExit(), () -> demo.output() + demo.errors());

      assertEquals(1, demo.output().size(), () -> demo.output().toString());
      JsonNode closing = new ObjectMapper().readTree(demo.output().get(0));
      assertTrue(closing.path("denied").asLong() > 0);
      assertEquals(
          closing.path("calls_sent").asLong(),
          closing.path("allowed").asLong() + closing.path("denied").asLong());
      assertEquals(closing.path("allowed").asLong(), closing.path("ledger_allowed").asLong(-1));
      assertEquals(closing.path("denied").asLong(), closing.path("ledger_denied").asLong(-1));
      assertEquals(0, closing.path("verify_differences").asLong(-1));
      assertTrue(demo.errors().contains("HTTP 429"), demo.errors());
    }
  }

  @Test
  void up_overAFolderInUse_isRefused_andSoIsATakenPort() throws Exception {
    Map<String, String> environment = freePorts();
    try (WeirProcess first = WeirProcess.start(folder, environment, "up")) {
      first.awaitLine("weir is ready");

      WeirProcess second = WeirProcess.start(folder, freePorts(), "up");
      assertEquals(1, second.awaitExit());
      assertTrue(second.errors().contains("in use by another process"), second.errors());
      assertTrue(second.errors().contains("WEIR_DATA"), second.errors());
      Path data = folder.resolve("up");
      assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(data)));

      Map<String, String> sameData =
          Map.of("WEIR_DATA", data.toString(), "WEIR_SINGLE_COPY", "allow");
      WeirProcess nextToIt = WeirProcess.start(folder, sameData, "topics", "check");
      assertEquals(0, nextToIt.awaitExit(), () -> nextToIt.output() + nextToIt.errors());

      first.terminate();
      assertEquals(0, first.awaitExit(), first.errors());
      // its last lines may be read a moment after its end
      for (String part : List.of("ingest", "aggregator", "Redis", "Kafka")) {
        Await.until(
            () -> "a line that " + part + " stops, in " + first.output(),
            () -> first.output().contains("stopping " + part));
      }
      WeirProcess after = WeirProcess.start(folder, sameData, "topics", "check");
      assertEquals(2, after.awaitExit());
      assertTrue(after.errors().contains("WEIR_KAFKA is not set"), after.errors());
      // once, a stop of more than a second was told as a failure
      String said = first.output() + first.errors();
      assertFalse(said.contains("stopped for good"), said);
    }
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Map<String, String> clash = new HashMap<>(freePorts());
      clash.put("WEIR_HTTP_PORT", Integer.toString(taken.getLocalPort()));
      WeirProcess refused = WeirProcess.start(folder, clash, "up");
      assertEquals(1, refused.awaitExit());
      assertTrue(refused.errors().contains("set WEIR_HTTP_PORT"), refused.errors());
    }
  }

  /** Regression: every user of the machine could read and write what the tokens protect. */
  @Test
  void up_withTokens_itsServersNeedAPassword_whichCommandsNextToItHave() throws Exception {
    Map<String, String> environment = new HashMap<>(freePorts());
    String token = BearerToken.create();
    TokenFile tokens =
        TokenFile.empty()
            .with(
                new TokenFile.Entry(
                    ApiKeyHash.of(token),
                    new Grant("gateway", Set.of(Scope.CHECK), Set.of()),
                    null));
    environment.put(
        "WEIR_TOKENS_FILE",
        Files.writeString(folder.resolve("tokens.yml"), tokens.text()).toString());
    environment.put("WEIR_HTTP_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_KAFKA_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_REDIS_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    Files.writeString(
        folder.resolve("policies.yml"),
        """
        policies:
          - {name: p, limit: {algorithm: token-bucket, capacity: 9, refill_tokens: 1, refill_period: PT1H}}
        """);
    Path data = folder.resolve("up");
    Map<String, String> sameData =
        Map.of("WEIR_DATA", data.toString(), "WEIR_SINGLE_COPY", "allow");
    for (int start = 0; start < 2; start++) {
      try (WeirProcess up = WeirProcess.start(folder, environment, "up")) {
        up.awaitLine("weir is ready");
        assertEquals(
            "-NOAUTH", redis(environment, "GET k").substring(0, 7), "Redis without a password");
        String password = Files.readString(data.resolve("servers.password")).strip();
        assertEquals("+OK", redis(environment, "AUTH " + password));
        try (Admin stranger =
            Admin.create(
                Map.of(
                    "bootstrap.servers", "127.0.0.1:" + environment.get("WEIR_KAFKA_PORT"),
                    "default.api.timeout.ms", "5000",
                    "request.timeout.ms", "4000"))) {
          assertThrows(ExecutionException.class, () -> stranger.listTopics().names().get());
        }
        WeirProcess nextToIt = WeirProcess.start(folder, sameData, "topics", "check");
        assertEquals(0, nextToIt.awaitExit(), () -> nextToIt.output() + nextToIt.errors());
        HttpResponse<String> checked =
            HttpClient.newHttpClient()
                .send(
                    HttpRequest.newBuilder(
                            URI.create(
                                "http://127.0.0.1:"
                                    + environment.get("WEIR_HTTP_PORT")
                                    + "/v1/check"))
                        .header("Authorization", "Bearer " + token)
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString("{\"client\":\"acme\"}"))
                        .build(),
                    HttpResponse.BodyHandlers.ofString());
        assertEquals(200, checked.statusCode(), checked.body());
        assertTrue(checked.body().contains("\"decided_by\":\"cache\""), checked.body());
        String said = up.output() + up.errors();
        assertFalse(said.contains(password), said);
        up.terminate();
        assertEquals(0, up.awaitExit(), up.errors());
      }
    }
  }

  private static String redis(Map<String, String> environment, String command) throws Exception {
    try (Socket socket =
        new Socket(
            InetAddress.getLoopbackAddress(),
            Integer.parseInt(environment.get("WEIR_REDIS_PORT")))) {
      socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.US_ASCII));
      return new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))
          .readLine();
    }
  }

  /** Regression: the end had no line of its own, and what was wrong was told three times. */
  @Test
  @FullSuite(
      reason =
          "four starts of everything; StopIT ends a process whose part is dead, and MisuseTest"
              + " has the sentences")
  void up_partDiesOrDataIsOfAnotherSetting_saysSoOnce() throws Exception {
    Map<String, String> environment = new HashMap<>(freePorts());
    environment.put("WEIR_WINDOW", "PT1M");
    try (WeirProcess up = WeirProcess.start(folder, environment, "up")) {
      up.awaitLine("weir is ready");
      ProcessHandle redis =
          ProcessHandle.of(up.pid())
              .orElseThrow()
              .descendants()
              .filter(each -> each.info().command().orElse("").endsWith("redis-server"))
              .findFirst()
              .orElseThrow();
      redis.destroy();

      assertEquals(1, up.awaitExit());
      String end = "weir: Redis has stopped: its process has ended";
      assertTrue(up.errors().contains(end), up.errors());
      assertTrue(up.errors().contains("; start again with the same WEIR_DATA"), up.errors());
    }
    assertDataAreOfAnother("WEIR_WINDOW", "PT2M", environment);
    assertDataAreOfAnother("WEIR_MAX_ENDPOINTS", "20", environment);
  }

  private void assertDataAreOfAnother(String setting, String value, Map<String, String> environment)
      throws Exception {
    Map<String, String> changed = new HashMap<>(environment);
    changed.put(setting, value);
    WeirProcess other = WeirProcess.start(folder, changed, "up");
    assertEquals(1, other.awaitExit());
    List<String> said =
        other.errors().lines().filter(line -> line.contains("counted with " + setting)).toList();
    assertEquals(1, said.size(), other.errors());
    assertTrue(said.get(0).startsWith("weir: aggregator has stopped: "), other.errors());
    assertFalse(other.errors().contains("full disk"), other.errors());
  }

  private Map<String, String> freePorts() throws Exception {
    Path policies = folder.resolve("policies.yml");
    Files.writeString(policies, "policies: []\n");
    return Map.of(
        "WEIR_DATA", folder.resolve("up").toString(),
        "WEIR_POLICIES", policies.toString(),
        "WEIR_HTTP_PORT", "0",
        "WEIR_REPORTS_PORT", "0",
        "WEIR_KAFKA_PORT", "0",
        "WEIR_REDIS_PORT", "0");
  }

  @Test
  void topics_createThenCheck_agree_andADifferenceIsNamed() throws Exception {
    try (TestKafka kafka = TestKafka.borrow()) {
      Map<String, String> environment =
          Map.of("WEIR_KAFKA", kafka.bootstrapServers(), "WEIR_SINGLE_COPY", "allow");
      WeirProcess missing = WeirProcess.start(folder, environment, "topics", "check");
      assertEquals(1, missing.awaitExit());
      assertTrue(missing.output().contains("weir.usage.ledger.v1 is missing"));

      WeirProcess create =
          WeirProcess.start(folder, environment, "topics", "create", "--partitions", "3");
      assertEquals(0, create.awaitExit(), create.errors());
      WeirProcess check = WeirProcess.start(folder, environment, "topics", "check");
      assertEquals(0, check.awaitExit(), () -> check.output() + check.errors());
    }
  }

  @Test
  @FullSuite(reason = "a broker and four processes; CopyCheckIT refuses such topics at the start")
  void topics_ofASingleCopy_areRefusedUnlessAllowed() throws Exception {
    try (TestKafka kafka = TestKafka.borrow()) {
      Map<String, String> strict = Map.of("WEIR_KAFKA", kafka.bootstrapServers());
      Map<String, String> meant =
          Map.of("WEIR_KAFKA", kafka.bootstrapServers(), "WEIR_SINGLE_COPY", "allow");

      WeirProcess single =
          WeirProcess.start(folder, strict, "topics", "create", "--replication-factor", "1");
      assertEquals(2, single.awaitExit());
      assertTrue(single.errors().contains("--replication-factor must be at least 3"));
      WeirProcess oneBroker = WeirProcess.start(folder, strict, "topics", "create");
      assertEquals(1, oneBroker.awaitExit());
      WeirProcess created = WeirProcess.start(folder, meant, "topics", "create");
      assertEquals(0, created.awaitExit(), created.errors());

      WeirProcess strictCheck = WeirProcess.start(folder, strict, "topics", "check");
      assertEquals(1, strictCheck.awaitExit());
      assertTrue(
          strictCheck.output().contains("weir.calls.v1 has a replication factor of 1, not 3"),
          () -> strictCheck.output().toString());
      assertTrue(strictCheck.output().contains("weir.calls.v1 has min.insync.replicas=1, not 2"));
      WeirProcess aggregator = WeirProcess.start(folder, strict, "aggregate");
      assertEquals(1, aggregator.awaitExit());
      assertTrue(aggregator.errors().contains("WEIR_SINGLE_COPY=allow"), aggregator.errors());
    }
  }

  @Test
  @CoreSuite
  void kafkaUnreachable_isReportedWithAddressAndVariable() throws Exception {
    String nowhere = "127.0.0.1:" + Ports.free();

    WeirProcess check = WeirProcess.start(folder, Map.of("WEIR_KAFKA", nowhere), "topics", "check");

    assertEquals(1, check.awaitExit());
    assertEquals(1, check.errors().lines().count(), check.errors());
    assertTrue(check.errors().contains(nowhere + " Connection refused"), check.errors());
    assertTrue(check.errors().contains("WEIR_KAFKA"), check.errors());
  }

  @Test
  @CoreSuite
  void policiesCheck_ofABadFile_exitsOneAndNamesEveryProblem() throws Exception {
    Path file = folder.resolve("bad.yml");
    Files.writeString(file, "policies:\n  - name: a\n    limit: {capacity: 0}\n");

    WeirProcess check = WeirProcess.start(folder, Map.of(), "policies", "check", file.toString());

    assertEquals(1, check.awaitExit());
    assertTrue(check.output().stream().anyMatch(l -> l.contains("policies[0].limit.capacity")));
    assertEquals("3 problems", check.output().get(check.output().size() - 1));
  }

  @Test
  @CoreSuite
  void everyCommand_hasHelp() throws Exception {
    Map<String, WeirProcess> asked = new HashMap<>();
    for (String command :
        List.of("demo", "up", "ingest", "aggregate", "topics", "policies", "verify")) {
      asked.put(command, WeirProcess.start(folder, Map.of(), command, "--help"));
    }
    for (Map.Entry<String, WeirProcess> of : asked.entrySet()) {
      assertEquals(0, of.getValue().awaitExit());
      String first = of.getValue().output().get(0);
      assertTrue(first.startsWith("Usage: weir " + of.getKey()), first);
    }
  }

  /** Was a stack trace. */
  @Test
  void dataFolderBeyondAscii_inAnAsciiLocale_isRefusedWithASentence() throws Exception {
    List<String> command = new ArrayList<>();
    String script = "export LC_ALL=C WEIR_DATA=\"$(printf 'data-\\303\\251')\"; exec \"$@\"";
    command.addAll(List.of("bash", "-c", script, "bash"));
    command.addAll(ChildJvm.command("256m", List.of()));
    command.addAll(List.of(WeirProcess.COMMANDS, "up"));
    try (WeirProcess up = WeirProcess.startProgram(folder, Map.of(), command)) {
      assertEquals(2, up.awaitExit(), up::errors);
      assertTrue(up.errors().contains("LC_ALL=C.UTF-8"), up.errors());
      assertFalse(up.errors().contains("at io.weir"), up.errors());
    }
  }

  @Test
  void missingVariable_isNamed() throws Exception {
    WeirProcess ingest = WeirProcess.start(folder, Map.of(), "ingest");

    assertEquals(2, ingest.awaitExit());
    assertTrue(ingest.errors().contains("WEIR_KAFKA is not set"), ingest.errors());
  }
}
