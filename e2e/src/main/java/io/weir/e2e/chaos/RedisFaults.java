// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static io.weir.e2e.chaos.Ground.REDIS;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.List;

/** Redis killed, standing still, or without its data. */
final class RedisFaults {
  private final Lasting lasting;

  RedisFaults(Lasting lasting) {
    this.lasting = lasting;
  }

  List<Fault> all() {
    return List.of(
        Fault.of("Redis killed", REDIS, this::killed),
        Fault.of("Redis stands still", REDIS, this::standsStill),
        Fault.of("Redis flushed", REDIS, RedisFaults::flushed));
  }

  private void killed(Scene scene) throws Exception {
    scene.cluster().killRedis();
    lasting.aMoment(scene.random());
    scene.cluster().startRedis();
  }

  private void standsStill(Scene scene) throws Exception {
    Signals.send("STOP", scene.cluster().redis().pid());
    try {
      lasting.aWhile(scene.random());
    } finally {
      Signals.send("CONT", scene.cluster().redis().pid());
    }
  }

  private static void flushed(Scene scene) {
    RedisClient client = RedisClient.create(scene.cluster().redis().uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      connection.sync().flushall();
    } finally {
      client.shutdown();
    }
  }
}
