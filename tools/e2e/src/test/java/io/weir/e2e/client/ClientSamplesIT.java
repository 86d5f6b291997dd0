// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.access.BearerToken;
import io.weir.access.Grant;
import io.weir.access.Scope;
import io.weir.access.TokenFile;
import io.weir.e2e.WeirProcess;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.servers.Ports;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.Checkout;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples that ask Weir, or its cache alone, as the programs that they are. */
final class ClientSamplesIT {
  private static final Path SAMPLES = Checkout.file("clients/samples");
  private static final String KEY = "weir_key-of-acme";
  private static final String ENDPOINT = "GET /items/{id}";

  /** The usual timeout of tests, because these tests do not measure response times. */
  private static final String PATIENCE_SECONDS = "180";

  private static final int MOST_RUNS = 5;

  @TempDir private static Path folder;
  private static TestKafka kafka;
  private static TestRedis redis;
  private static Ingest node;
  private static String token;

  /** What a program has left. */
  private record Ended(int status, String output) {}

  @BeforeAll
  static void start() throws Exception {
    kafka = TestKafka.borrow();
    redis = TestRedis.borrow();
    token = BearerToken.create();
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
    }
    Grant grant = new Grant("samples", Set.of(Scope.CHECK), Set.of());
    TokenFile tokens =
        TokenFile.empty().with(new TokenFile.Entry(ApiKeyHash.of(token), grant, null));
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_NODE", "node-1");
    environment.put("WEIR_DATA", folder.resolve("node").toString());
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_STOP_DELAY", "PT0S");
    // no aggregator is there to restore the cache
    environment.put("WEIR_READY_WAIT", "PT0S");
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    environment.put(
        "WEIR_TOKENS_FILE",
        Files.writeString(folder.resolve("tokens.yml"), tokens.text()).toString());
    environment.put(
        "WEIR_POLICIES", Files.writeString(folder.resolve("policies.yml"), policies()).toString());
    node = Ingest.start(IngestConfig.of(environment));
  }

  private static String policies() {
    return """
    policies:
      - name: two
        match: {endpoint: ["%s"]}
        limit: {algorithm: token-bucket, capacity: 2, refill_tokens: 1, refill_period: PT1H}
    clients:
      acme: {api_keys: [{id: a, sha256: %s}]}
    """
        .formatted(ENDPOINT, ApiKeyHash.of(KEY));
  }

  @AfterAll
  static void stop() {
    node.close();
    redis.close();
    kafka.close();
  }

  private static String address() {
    return "http://127.0.0.1:" + node.httpPort();
  }

  private static String nobody() throws IOException {
    return "http://127.0.0.1:" + Ports.free();
  }

  private static Map<String, String> environment() {
    return Map.of("WEIR_TOKEN", token, "TRY_MILLIS", PATIENCE_SECONDS + "000");
  }

  private static Ended ended(WeirProcess started) throws InterruptedException {
    try (WeirProcess process = started) {
      int status = process.awaitExit();
      return new Ended(status, String.join("\n", process.output()).strip() + process.errors());
    }
  }

  private static Ended run(String... command) throws Exception {
    return ended(WeirProcess.startProgram(folder, environment(), List.of(command)));
  }

  /** Skips the test where a program is not installed. */
  private static void needs(String program) {
    boolean isThere = false;
    for (String entry : System.getenv("PATH").split(Pattern.quote(File.pathSeparator), -1)) {
      isThere |= Files.isExecutable(Path.of(entry, program));
    }
    assumeTrue(isThere, () -> program + " is not on the PATH");
  }

  /** A run of the embedded limiter in which Redis answered each call in time. */
  private record Run(String client, String output) {}

  /**
   * Runs for a new client. On a busy machine Redis may be late, and a call that is answered too
   * late may be charged all the same, so each further run is for another client.
   */
  private static Run ofNewClient(String name) throws Exception {
    int number = 0;
    String client;
    String output;
    do {
      client = name + "-" + ++number;
      output = embeddedOutput(client);
    } while (output.contains("Undecided") && number < MOST_RUNS);
    return new Run(client, output);
  }

  private static String embeddedOutput(String client) throws Exception {
    Ended ended = embedded(redis.uri(), client);
    assertEquals(0, ended.status(), ended::output);
    return ended.output();
  }

  private static Ended embedded(String uri, String client) throws Exception {
    return ended(WeirProcess.startMain(folder, Map.of(), "EmbeddedLimiter", uri, client));
  }

  @Test
  void embeddedLimiter_admitsFive_inWhateverProcess() throws Exception {
    List<String> lines = new ArrayList<>();
    for (int call = 1; call <= 7; call++) {
      lines.add(call + (call <= 5 ? " Allowed" : " Denied"));
    }

    Run first = ofNewClient("acme");
    assertEquals(String.join("\n", lines), first.output());
    Await.until(
        "another process to decide",
        () -> {
          String output = embeddedOutput(first.client());
          assertFalse(output.contains("Allowed"), output);
          return output.startsWith("1 Denied");
        });
    assertTrue(ofNewClient("globex").output().startsWith("1 Allowed"));
  }

  @Test
  void embeddedLimiter_withoutRedis_saysThatItDoesNotKnow() throws Exception {
    Ended ended = embedded("redis://127.0.0.1:" + Ports.free(), "acme");

    assertEquals(0, ended.status());
    assertTrue(ended.output().startsWith("1 Undecided\n2 Undecided"), ended::output);
  }

  @Test
  void limitedApi_followsWeirsDecisions_servesWithoutWeir() throws Exception {
    int port = node.httpPort();
    try (WeirProcess api = api("http://127.0.0.1:" + port);
        WeirProcess alone = api(nobody())) {
      String items = "http://127.0.0.1:" + api.awaitLine("serving on port ") + "/items/";
      // the first calls of two processes may take longer than the client waits
      Await.until("Weir to answer", () -> get(items + "3", "weir_nobody").statusCode() == 401);
      HttpResponse<String> served = get(items + "0", KEY);
      assertEquals(200, served.statusCode());
      assertEquals("an item", served.body());
      assertTrue(served.headers().firstValue("RateLimit").orElse("").startsWith("\"two\""));
      // a call that is tried again, as on a slow machine, is charged again: two pass at most
      HttpResponse<String> next = get(items + "1", KEY);
      HttpResponse<String> denied = next.statusCode() == 200 ? get(items + "2", KEY) : next;
      assertEquals(429, denied.statusCode());
      assertTrue(denied.headers().firstValueAsLong("Retry-After").orElse(0) > 3_000);

      String free = "http://127.0.0.1:" + alone.awaitLine("serving on port ") + "/items/";
      assertEquals(200, get(free + "4", KEY).statusCode());
    }
  }

  private static WeirProcess api(String weir) throws IOException {
    return WeirProcess.startMain(folder, environment(), "LimitedApi", "0", weir);
  }

  private static HttpResponse<String> get(String address, String key) throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create(address)).header("X-API-Key", key).build(),
            HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void checkPy_triesTheNextNode_andPrintsTheDecision() throws Exception {
    needs("python3");

    for (int left = 1; left >= 0; left--) {
      assertEquals(new Ended(0, "allowed two=" + left), python("python", nobody(), address()));
    }
    assertEquals(new Ended(1, "denied, not-enough-tokens two=0"), python("python", address()));
    assertEquals(new Ended(3, "undecided"), python("python", nobody()));
    Ended wrong = python("x".repeat(300), address());
    assertEquals(2, wrong.status());
    assertTrue(wrong.output().startsWith("invalid-member client"), wrong::output);
  }

  private static Ended python(String client, String... nodes) throws Exception {
    List<String> command = new ArrayList<>();
    command.add("python3");
    command.add(SAMPLES.resolve("check.py").toString());
    command.addAll(List.of("--try-seconds", PATIENCE_SECONDS));
    for (String each : nodes) {
      command.addAll(List.of("--weir", each));
    }
    command.addAll(List.of(client, ENDPOINT));
    return run(command.toArray(String[]::new));
  }

  @Test
  void checkMjs_triesTheNextNode_andPrintsTheDecision() throws Exception {
    needs("node");
    String sample = SAMPLES.resolve("check.mjs").toString();

    for (int left = 1; left >= 0; left--) {
      assertEquals(
          new Ended(0, "allowed two=" + left),
          run("node", sample, "node", ENDPOINT, nobody(), address()));
    }
    assertEquals(
        new Ended(1, "denied, not-enough-tokens two=0"),
        run("node", sample, "node", ENDPOINT, address()));
    assertEquals(new Ended(3, "undecided"), run("node", sample, "node", ENDPOINT, nobody()));
    Ended wrong = run("node", sample, "x".repeat(300), ENDPOINT, address());
    assertEquals(2, wrong.status());
    assertTrue(wrong.output().startsWith("invalid-member client"), wrong::output);
  }
}
