// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A Redis that cannot be used ends the start, with an error that names the setting. */
final class RefusedRedisIT {
  @TempDir private Path folder;

  private String refusal(String... redisOptions) throws Exception {
    Path policies = Files.writeString(folder.resolve("policies.yml"), "policies: []\n");
    try (RedisServer redis = RedisServer.start(folder.resolve("redis"), 0, redisOptions)) {
      IngestConfig config =
          IngestConfig.of(
              Map.of(
                  "WEIR_KAFKA", "127.0.0.1:1",
                  "WEIR_REDIS", redis.uri(),
                  "WEIR_HTTP_PORT", "0",
                  "WEIR_DATA", folder.resolve("data").toString(),
                  "WEIR_POLICIES", policies.toString()));
      return String.valueOf(
          assertThrows(IngestStartException.class, () -> Ingest.start(config)).getMessage());
    }
  }

  @Test
  void start_redisInClusterMode_isRefused() throws Exception {
    String message = refusal("--cluster-enabled", "yes");

    assertTrue(message.startsWith("Redis (WEIR_REDIS): the server is in cluster mode"), message);
  }

  @Test
  void start_redisThatMayEvict_isRefused_andTheSettingIsNamed() throws Exception {
    String message = refusal("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru");

    assertTrue(message.contains("allkeys-lru"), message);
    assertTrue(message.endsWith("or set WEIR_REDIS_EVICTION=warn to use it anyway"), message);
  }
}
