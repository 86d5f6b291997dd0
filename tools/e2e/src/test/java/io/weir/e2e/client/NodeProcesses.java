// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.client;

import io.weir.access.BearerToken;
import io.weir.access.Grant;
import io.weir.access.Scope;
import io.weir.access.TokenFile;
import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.e2e.Recorded;
import io.weir.e2e.WeirProcess;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.servers.Ports;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Two ingest nodes as processes, which ask for tokens, and an aggregator that counts, over a real
 * broker and a real Redis. Not thread-safe.
 */
final class NodeProcesses implements AutoCloseable {
  static final int COUNT = 2;

  /** A client's API key. */
  static final String KEY = "weir_key-of-acme";

  private final Path folder;
  private final TestKafka kafka = TestKafka.borrow();
  private final TestRedis redis = TestRedis.borrow();
  private final String token = BearerToken.create();
  private final int[] ports = new int[COUNT];
  private final @Nullable WeirProcess[] nodes = new @Nullable WeirProcess[COUNT];
  private final Map<String, String> common = new HashMap<>();
  private @Nullable Aggregator aggregator;

  private NodeProcesses(Path folder) {
    this.folder = folder;
  }

  static NodeProcesses start(Path folder) throws Exception {
    NodeProcesses started = new NodeProcesses(folder);
    try {
      started.startAll();
      return started;
    } catch (Exception failed) {
      started.close();
      throw failed;
    }
  }

  private void startAll() throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
    }
    Grant grant = new Grant("tests", Set.of(Scope.CHECK, Scope.REPORT), Set.of());
    TokenFile tokens =
        TokenFile.empty().with(new TokenFile.Entry(ApiKeyHash.of(token), grant, null));
    common.put("WEIR_KAFKA", kafka.bootstrapServers());
    common.put("WEIR_SINGLE_COPY", "allow");
    common.put("WEIR_REDIS", redis.uri());
    common.put("WEIR_DECISION_DEADLINE", "PT10S");
    common.put("WEIR_STOP_DELAY", "PT0S");
    // a node that starts need not wait for an aggregator to restore the cache
    common.put("WEIR_READY_WAIT", "PT0S");
    common.put("WEIR_HTTP_HOST", "127.0.0.1");
    common.put("WEIR_REPORTS_HOST", "127.0.0.1");
    common.put("WEIR_REPORTS_PORT", "0");
    common.put(
        "WEIR_TOKENS_FILE",
        Files.writeString(folder.resolve("tokens.yml"), tokens.text()).toString());
    common.put(
        "WEIR_POLICIES", Files.writeString(folder.resolve("policies.yml"), policies()).toString());
    aggregator = Aggregator.start(AggregatorConfig.of(with("WEIR_INSTANCE", "counter")));
    for (int i = 0; i < COUNT; i++) {
      ports[i] = Ports.free();
      start(i);
    }
  }

  private static String policies() {
    return """
    policies:
      - name: few
        match: {endpoint: ["GET /few"]}
        limit: {algorithm: token-bucket, capacity: 5, refill_tokens: 1, refill_period: PT1H}
      - name: single
        match: {endpoint: ["GET /single"]}
        limit: {algorithm: concurrency, limit: 1, lease: PT1H}
    clients:
      acme: {api_keys: [{id: a, sha256: %s}]}
    """
        .formatted(ApiKeyHash.of(KEY));
  }

  private Map<String, String> with(String variable, String value) {
    Map<String, String> environment = new HashMap<>(common);
    environment.put(variable, value);
    environment.put("WEIR_DATA", folder.resolve(value).toString());
    return environment;
  }

  /** Starts a node that does not run, on its port, over what it had. */
  void start(int node) throws IOException, InterruptedException {
    Map<String, String> environment = with("WEIR_NODE", "node-" + node);
    environment.put("WEIR_HTTP_PORT", Integer.toString(ports[node]));
    WeirProcess process = WeirProcess.startSmall(folder, environment, "256m", "ingest");
    nodes[node] = process;
    process.awaitLine("ingest is ready on port ");
  }

  private WeirProcess running(int node) {
    WeirProcess process = nodes[node];
    if (process == null) {
      throw new IllegalStateException("node " + node + " is not running");
    }
    return process;
  }

  /** Ends a node with SIGKILL. */
  void kill(int node) throws InterruptedException {
    running(node).kill();
    nodes[node] = null;
  }

  /** Suspends a node, as SIGSTOP does. */
  void pause(int node) throws IOException, InterruptedException {
    signal("STOP", node);
  }

  /** Lets a node that is paused go on. */
  void resume(int node) throws IOException, InterruptedException {
    signal("CONT", node);
  }

  private void signal(String signal, int node) throws IOException, InterruptedException {
    int status =
        new ProcessBuilder("kill", "-" + signal, Long.toString(running(node).pid()))
            .start()
            .waitFor();
    if (status != 0) {
      throw new IOException("kill -" + signal + " ended with " + status);
    }
  }

  /** Returns the address of a node, whether it runs or not. */
  URI address(int node) {
    return URI.create("http://127.0.0.1:" + ports[node]);
  }

  URI[] addresses() {
    return new URI[] {address(0), address(1)};
  }

  /** Returns a token that both ports take. */
  String token() {
    return token;
  }

  /** Returns how many lines in Kafka have the id, whatever node has written them. */
  long linesOf(String id) throws IOException {
    return Recorded.all(kafka.bootstrapServers(), Topics.CALLS.name()).stream()
        .flatMap(row -> row.lines().stream())
        .filter(line -> line.path("id").asText().equals(id))
        .count();
  }

  /** Waits until so many lines in Kafka have the id. */
  void awaitLines(String id, int lines) throws Exception {
    Await.until(() -> lines + " lines of " + id, () -> linesOf(id) >= lines);
  }

  /** Returns what a client has used, by the report that includes the call at a position. */
  String usage(String client, String position) throws IOException, InterruptedException {
    Aggregator counting = aggregator;
    if (counting == null) {
      throw new IllegalStateException("there is no aggregator");
    }
    HttpResponse<String> answer =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(
                        URI.create(
                            "http://127.0.0.1:"
                                + counting.reportsPort()
                                + "/v1/usage?from=2026-01-01&window=total&client="
                                + client))
                    .header("Authorization", "Bearer " + token)
                    .header("Usage-Position", position)
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new IOException(answer.statusCode() + " " + answer.body());
    }
    return answer.body();
  }

  @Override
  public void close() {
    for (WeirProcess node : nodes) {
      if (node != null) {
        node.close();
      }
    }
    if (aggregator != null) {
      aggregator.close();
    }
    redis.close();
    kafka.close();
  }
}
