// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.servers.EmbeddedKafka;
import io.weir.servers.RedisServer;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * A broker, Redis and a policy that refuses nothing, for nodes that are overloaded one after the
 * other.
 */
final class OverloadGround implements AutoCloseable {
  private static final int PARTITIONS = 4;

  private final Path folder;
  private final Path policies;
  private final EmbeddedKafka kafka;
  private final RedisServer redis;

  private OverloadGround(Path folder, Path policies, EmbeddedKafka kafka, RedisServer redis) {
    this.folder = folder;
    this.policies = policies;
    this.kafka = kafka;
    this.redis = redis;
  }

  static OverloadGround prepare(Path folder) throws IOException, TopicAdminException {
    Path policies =
        Files.writeString(
            folder.resolve("policies.yml"),
            """
            policies:
              - name: burst
                limit: {algorithm: token-bucket, capacity: 100000, refill_tokens: 100000, refill_period: PT1S}
            """);
    EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"), 0);
    try (TopicAdmin topics = TopicAdmin.connect(kafka.bootstrapServers())) {
      topics.createMissing(PARTITIONS, Optional.empty());
      return new OverloadGround(
          folder,
          policies,
          kafka,
          RedisServer.start(folder.resolve("redis"), 0, "--appendonly", "no"));
    } catch (IOException | TopicAdminException | RuntimeException failed) {
      kafka.close();
      throw failed;
    }
  }

  /** The variables of a node over a journal of its own. */
  Map<String, String> node(String name, Map<String, String> settings) {
    Map<String, String> variables = new HashMap<>();
    variables.put("WEIR_KAFKA", kafka.bootstrapServers());
    variables.put("WEIR_SINGLE_COPY", "allow");
    variables.put("WEIR_STOP_DELAY", "PT0S");
    variables.put("WEIR_REDIS", redis.uri());
    variables.put("WEIR_HTTP_HOST", "127.0.0.1");
    variables.put("WEIR_HTTP_PORT", "0");
    variables.put("WEIR_POLICIES", policies.toString());
    variables.put("WEIR_NODE", name);
    variables.put("WEIR_DATA", folder.resolve(name).toString());
    variables.putAll(settings);
    return variables;
  }

  @Override
  public void close() {
    redis.close();
    kafka.close();
  }
}
