// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.aggregator.AggregatorStartException;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.servers.EmbeddedKafka;
import io.weir.servers.RedisServer;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A broker with Weir's topics, and a Redis for nodes, on free ports of this machine. */
final class Ground implements AutoCloseable {
  private final Path folder;
  private final EmbeddedKafka kafka;
  private @Nullable RedisServer redis;

  private Ground(Path folder, EmbeddedKafka kafka) {
    this.folder = folder;
    this.kafka = kafka;
  }

  /** Starts a broker. */
  static Ground start(Path folder, int partitions) throws IOException, TopicAdminException {
    EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"), 0);
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(partitions, Optional.empty());
      return new Ground(folder, kafka);
    } catch (TopicAdminException | RuntimeException failed) {
      kafka.close();
      throw failed;
    }
  }

  /**
   * Starts a broker and Redis.
   *
   * @param policies the policy file of the nodes
   */
  static Ground start(Path folder, int partitions, String policies, String... redisOptions)
      throws IOException, TopicAdminException {
    Ground ground = start(folder, partitions);
    try {
      Files.writeString(ground.policies(), policies);
      ground.redis = RedisServer.start(folder.resolve("redis"), 0, redisOptions);
      return ground;
    } catch (IOException | RuntimeException failed) {
      ground.close();
      throw failed;
    }
  }

  String kafka() {
    return kafka.bootstrapServers();
  }

  String redisUri() {
    if (redis == null) {
      throw new IllegalStateException("there is no Redis");
    }
    return redis.uri();
  }

  private Path policies() {
    return folder.resolve("policies.yml");
  }

  /** Starts a node with its own journal. */
  Ingest node(String name, Map<String, String> settings) {
    Map<String, String> variables = variables(name);
    variables.put("WEIR_STOP_DELAY", "PT0S");
    variables.put("WEIR_REDIS", redisUri());
    variables.put("WEIR_HTTP_HOST", "127.0.0.1");
    variables.put("WEIR_HTTP_PORT", "0");
    variables.put("WEIR_POLICIES", policies().toString());
    variables.put("WEIR_NODE", name);
    variables.putAll(settings);
    return Ingest.start(IngestConfig.of(variables));
  }

  /** Starts an aggregator with its own stores. */
  Aggregator aggregator(Map<String, String> settings)
      throws IOException, InterruptedException, AggregatorStartException {
    return Aggregator.start(AggregatorConfig.of(aggregatorVariables(settings)));
  }

  /** Returns the environment variables of an aggregator with its own stores. */
  Map<String, String> aggregatorVariables(Map<String, String> settings) {
    Map<String, String> variables = variables("aggregator");
    variables.put("WEIR_REPORTS_HOST", "127.0.0.1");
    variables.put("WEIR_REPORTS_PORT", "0");
    variables.put("WEIR_INSTANCE", "bench");
    variables.putAll(settings);
    return variables;
  }

  private Map<String, String> variables(String name) {
    return new HashMap<>(
        Map.of(
            "WEIR_KAFKA",
            kafka(),
            "WEIR_SINGLE_COPY",
            "allow",
            "WEIR_DATA",
            folder.resolve(name).toString()));
  }

  @Override
  public void close() {
    if (redis != null) {
      redis.close();
    }
    kafka.close();
  }
}
