// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.servers.EmbeddedKafka;
import io.weir.servers.RedisServer;
import io.weir.topics.catalog.TopicAdmin;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A broker, Redis, an aggregator and two ingest nodes; all but Redis in this JVM. */
final class HealFleet implements AutoCloseable {
  private static final int NODES = 2;
  private static final int PARTITIONS = 4;
  private static final Duration READY_PATIENCE = Duration.ofSeconds(60);

  private final Deque<Part> parts = new ArrayDeque<>();
  private final List<String> nodeUrls = new ArrayList<>();
  private String redisUri = "";

  private interface Part {
    void close();
  }

  private HealFleet() {}

  static HealFleet start(Path folder, String policies) throws Exception {
    HealFleet fleet = new HealFleet();
    try {
      fleet.startParts(folder, policies);
      return fleet;
    } catch (Throwable failed) {
      fleet.close();
      throw failed;
    }
  }

  private void startParts(Path folder, String policies) throws Exception {
    Files.createDirectories(folder);
    Path policyFile = Files.writeString(folder.resolve("policies.yml"), policies);
    EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"), 0);
    parts.push(kafka::close);
    RedisServer redis = RedisServer.start(folder.resolve("redis"), 0);
    parts.push(redis::close);
    redisUri = redis.uri();
    try (TopicAdmin topics = TopicAdmin.connect(kafka.bootstrapServers())) {
      topics.createMissing(PARTITIONS, Optional.empty());
      while (!topics.differences().isEmpty()) {
        TimeUnit.MILLISECONDS.sleep(20);
      }
    }
    Aggregator aggregator =
        Aggregator.start(
            AggregatorConfig.of(
                Map.of(
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
                    "bench")));
    parts.push(aggregator::close);
    await(aggregator::ready);
    for (int i = 0; i < NODES; i++) {
      Ingest node = startNode(folder, "node-" + i, kafka, policyFile);
      parts.push(node::close);
      nodeUrls.add("http://127.0.0.1:" + node.httpPort());
    }
  }

  private Ingest startNode(Path folder, String name, EmbeddedKafka kafka, Path policyFile) {
    return Ingest.start(
        IngestConfig.of(
            Map.of(
                "WEIR_SINGLE_COPY",
                "allow",
                "WEIR_KAFKA",
                kafka.bootstrapServers(),
                "WEIR_STOP_DELAY",
                "PT0S",
                "WEIR_REDIS",
                redisUri,
                "WEIR_NODE",
                name,
                "WEIR_DATA",
                folder.resolve(name).toString(),
                "WEIR_HTTP_HOST",
                "127.0.0.1",
                "WEIR_HTTP_PORT",
                "0",
                "WEIR_DECISION_DEADLINE",
                "PT0.5S",
                "WEIR_POLICIES",
                policyFile.toString())));
  }

  private static void await(BooleanSupplier ready) throws InterruptedException {
    long deadline = System.nanoTime() + READY_PATIENCE.toNanos();
    while (!ready.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("the aggregator is not ready in " + READY_PATIENCE);
      }
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  String redisUri() {
    return redisUri;
  }

  /** Where the check API of each node is. */
  List<String> nodeUrls() {
    return List.copyOf(nodeUrls);
  }

  @Override
  public void close() {
    while (!parts.isEmpty()) {
      parts.pop().close();
    }
  }
}
