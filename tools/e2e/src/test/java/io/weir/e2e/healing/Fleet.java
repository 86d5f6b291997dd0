// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.servers.testing.TestCluster;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A broker, Redis behind a {@link RedisRoute}, an aggregator and ingest nodes, all real; aggregator
 * and nodes live in this JVM. Not safe for threads.
 */
final class Fleet implements AutoCloseable {
  static final int PARTITIONS = 4;

  /** A window of the ledger; short, so that a test sees windows close. */
  static final Duration WINDOW = Duration.ofSeconds(5);

  /** Generous: a machine that is busy must not look like a cache that is away. */
  private static final String DECISION_DEADLINE = "PT10S";

  private final Path folder;
  private final Path policies;
  private final TestKafka kafka;
  private final @Nullable TestRedis redis;
  private final @Nullable RedisRoute route;
  private final String redisUri;
  private final Aggregator aggregator;
  private final List<Ingest> nodes = new ArrayList<>();

  private Fleet(Path folder, List<Rule> rules, @Nullable TestRedis redis, String clusterUri)
      throws Exception {
    this.folder = folder;
    this.redis = redis;
    this.route = redis == null ? null : RedisRoute.to(redis.uri());
    this.redisUri = route == null ? clusterUri : route.uri();
    this.policies = Files.writeString(folder.resolve("policies.yml"), Rule.yaml(rules));
    this.kafka = TestKafka.borrow();
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(PARTITIONS, Optional.empty());
      Await.until("the topics to appear", () -> topics.differences().isEmpty());
    }
    this.aggregator = Aggregator.start(AggregatorConfig.of(aggregatorEnvironment()));
    Await.until("the aggregator to become ready", aggregator::ready);
  }

  /**
   * Starts all.
   *
   * @param folder of this fleet alone
   * @param nodes how many ingest nodes, in this JVM
   * @param redisOptions as on redis-server's command line
   */
  static Fleet start(Path folder, List<Rule> rules, int nodes, String... redisOptions)
      throws Exception {
    return start(folder, rules, nodes, TestRedis.start(redisOptions));
  }

  /** Starts all with this Redis, which is closed with the rest. */
  static Fleet start(Path folder, List<Rule> rules, int nodes, TestRedis redis) throws Exception {
    return started(new Fleet(folder, rules, redis, ""), rules, nodes);
  }

  /** Starts all over a Redis Cluster, which is not closed with the rest, and has no route. */
  static Fleet start(Path folder, List<Rule> rules, int nodes, TestCluster cluster)
      throws Exception {
    return started(new Fleet(folder, rules, null, cluster.uri()), rules, nodes);
  }

  private static Fleet started(Fleet fleet, List<Rule> rules, int nodes) throws Exception {
    try {
      fleet.startNodes(nodes);
      for (Rule rule : rules) {
        if (rule.hold()) {
          Await.until("a new cache to become warm", () -> fleet.decides(rule));
        }
      }
      return fleet;
    } catch (Throwable failed) {
      fleet.close();
      throw failed;
    }
  }

  /**
   * Starts ingest nodes {@code node-0, node-1, …}; the same journals when they were there before.
   */
  void startNodes(int count) {
    for (int i = 0; i < count; i++) {
      nodes.add(Ingest.start(IngestConfig.of(nodeEnvironment("node-" + i))));
    }
  }

  /** Returns whether the cache decides a call under the rule; takes no tokens. */
  private boolean decides(Rule rule) throws IOException, InterruptedException {
    String endpoint = rule.endpoint().replace("*", "x");
    return HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create(nodeUrls().get(0) + "/v1/check?peek=true"))
                    .POST(
                        HttpRequest.BodyPublishers.ofString(
                            "{\"client\":\"nobody\",\"endpoint\":\"" + endpoint + "\"}"))
                    .build(),
                HttpResponse.BodyHandlers.discarding())
            .statusCode()
        == 200;
  }

  /** Stops all ingest nodes in order. */
  void stopNodes() {
    nodes.forEach(Ingest::close);
    nodes.clear();
  }

  /** The variables of an ingest node, for one in a process of its own too. */
  Map<String, String> nodeEnvironment(String name) {
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_STOP_DELAY", "PT0S");
    environment.put("WEIR_REDIS", redisUri);
    environment.put("WEIR_NODE", name);
    environment.put("WEIR_DATA", folder.resolve(name).toString());
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_DECISION_DEADLINE", DECISION_DEADLINE);
    return environment;
  }

  private Map<String, String> aggregatorEnvironment() {
    return Map.of(
        "WEIR_SINGLE_COPY",
        "allow",
        "WEIR_KAFKA",
        kafka.bootstrapServers(),
        "WEIR_DATA",
        folder.resolve("aggregator").toString(),
        "WEIR_REPORTS_HOST",
        "127.0.0.1",
        "WEIR_REPORTS_PORT",
        "0",
        "WEIR_INSTANCE",
        "aggregator",
        "WEIR_WINDOW",
        WINDOW.toString(),
        "WEIR_GRACE",
        "PT2S");
  }

  /** The URLs of the nodes of this JVM, without a path. */
  List<String> nodeUrls() {
    return nodes.stream().map(node -> "http://127.0.0.1:" + node.httpPort()).toList();
  }

  String reportsUrl() {
    return "http://127.0.0.1:" + aggregator.reportsPort();
  }

  String kafka() {
    return kafka.bootstrapServers();
  }

  RedisRoute route() {
    return Objects.requireNonNull(route);
  }

  TestRedis redis() {
    return Objects.requireNonNull(redis);
  }

  /** Ends Redis with SIGKILL and starts it again on its port, over what it left behind. */
  void killAndRestartRedis() {
    redis().kill();
    redis().restart();
  }

  @Override
  public void close() throws IOException {
    stopNodes();
    aggregator.close();
    if (route != null) {
      route.close();
    }
    if (redis != null) {
      redis.close();
    }
    kafka.close();
  }
}
