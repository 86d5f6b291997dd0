// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.gateways;

import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.servers.Ports;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.topics.catalog.TopicAdmin;
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
import org.jspecify.annotations.Nullable;

/** Two ingest nodes on fixed ports, over a real broker and a real Redis. Not thread-safe. */
final class TwoNodes implements AutoCloseable {
  /** The key of a client that may call each endpoint of items {@value #ITEMS} times. */
  static final String LIMITED = "weir_key-of-acme";

  /** The key of another such client. */
  static final String ALSO_LIMITED = "weir_key-of-initech";

  /** The key of a client without limits. */
  static final String UNLIMITED = "weir_key-of-globex";

  static final int ITEMS = 5;

  private static final int COUNT = 2;

  private final HttpClient http = HttpClient.newHttpClient();
  private final Path folder;
  private final Map<String, String> settings;
  private final TestKafka kafka;
  private final TestRedis redis;
  private final int[] ports = new int[COUNT];
  private final @Nullable Ingest[] nodes = new @Nullable Ingest[COUNT];

  private TwoNodes(Path folder, Map<String, String> settings) throws IOException {
    this.folder = folder;
    this.settings = settings;
    this.kafka = TestKafka.borrow();
    this.redis = TestRedis.start();
    for (int i = 0; i < COUNT; i++) {
      ports[i] = Ports.free();
    }
  }

  static TwoNodes start(Path folder) throws Exception {
    return start(folder, Recipe.settings());
  }

  static TwoNodes start(Path folder, Map<String, String> settings) throws Exception {
    Files.writeString(
        folder.resolve("policies.yml"),
        """
        policies:
          - name: items
            match: {client: [acme, initech], endpoint: ["GET /v1/items/{id}"]}
            limit: {algorithm: token-bucket, capacity: %d, refill_tokens: 1, refill_period: PT1H}
          - name: carts
            match: {endpoint: ["* /v1/carts/{id}"]}
            limit: {algorithm: token-bucket, capacity: 1000, refill_tokens: 1, refill_period: PT1H}
            on_cache_failure: closed
        clients:
          acme: {api_keys: [{id: a, sha256: %s}]}
          initech: {api_keys: [{id: i, sha256: %s}]}
          globex: {api_keys: [{id: g, sha256: %s}]}
        """
            .formatted(
                ITEMS,
                ApiKeyHash.of(LIMITED),
                ApiKeyHash.of(ALSO_LIMITED),
                ApiKeyHash.of(UNLIMITED)));
    Files.writeString(folder.resolve("routes"), "GET /v1/items/{id}\n* /v1/carts/{id}\n");
    TwoNodes started = new TwoNodes(folder, settings);
    try {
      try (TopicAdmin topics =
          TopicAdmin.connect(KafkaConnection.to(started.kafka.bootstrapServers()))) {
        topics.createMissing(1, Optional.empty());
      }
      started.startAll();
      return started;
    } catch (Exception failed) {
      started.close();
      throw failed;
    }
  }

  private Map<String, String> environment(int node) {
    Map<String, String> environment = new HashMap<>(settings);
    environment.put("WEIR_AUTHZ_ROUTES", folder.resolve("routes").toString());
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_NODE", "node-" + node);
    environment.put("WEIR_DATA", folder.resolve("node-" + node).toString());
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", Integer.toString(ports[node]));
    environment.put("WEIR_POLICIES", folder.resolve("policies.yml").toString());
    // longer than HAProxy takes to see that a node is ready again, as the default is
    environment.put("WEIR_STOP_DELAY", "PT1S");
    // no aggregator is there to restore the cache
    environment.put("WEIR_READY_WAIT", "PT0S");
    environment.put("WEIR_DECISION_DEADLINE", "PT5S");
    return environment;
  }

  void startAll() throws IOException {
    for (int i = 0; i < COUNT; i++) {
      start(i);
    }
  }

  private void start(int node) throws IOException {
    nodes[node] = Ingest.start(IngestConfig.of(environment(node)));
  }

  private void stop(int node) {
    Ingest running = nodes[node];
    nodes[node] = null;
    if (running != null) {
      running.close();
    }
  }

  void stopAll() {
    for (int i = 0; i < COUNT; i++) {
      stop(i);
    }
  }

  /** Stops one node in order and starts it again, then the other one. */
  void restartInTurn() throws IOException {
    for (int i = 0; i < COUNT; i++) {
      stop(i);
      start(i);
    }
  }

  /** Ends Redis with SIGKILL. */
  void killRedis() {
    redis.kill();
  }

  /** Starts Redis again. */
  void restartRedis() {
    redis.restart();
  }

  int port(int node) {
    return ports[node];
  }

  /** Returns how many requests came on connections that have ended since. */
  long requestsOnEndedConnections() throws IOException, InterruptedException {
    long sum = 0;
    for (int port : ports) {
      sum += metric(port, "jetty_connections_messages_in_messages_total");
    }
    return sum;
  }

  private long metric(int port, String name) throws IOException, InterruptedException {
    String told =
        http.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics")).build(),
                HttpResponse.BodyHandlers.ofString())
            .body();
    return told.lines()
        .filter(line -> line.startsWith(name))
        .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' '))))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no " + name + " in " + told));
  }

  @Override
  public void close() {
    stopAll();
    redis.close();
    kafka.close();
  }
}
