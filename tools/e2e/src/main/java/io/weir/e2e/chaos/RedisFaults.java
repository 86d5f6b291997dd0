// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static io.weir.e2e.chaos.Ground.REDIS;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.e2e.audit.Expect;
import java.util.BitSet;
import java.util.List;
import java.util.function.Consumer;

/** Faults that kill, suspend or flush Redis, or run it in cluster mode. */
final class RedisFaults {
  private static final int SLOTS = 16_384;

  private final Lasting lasting;

  RedisFaults(Lasting lasting) {
    this.lasting = lasting;
  }

  List<Fault> all() {
    return List.of(
        Fault.of("Redis killed", REDIS, this::killed),
        Fault.of("Redis stands still", REDIS, this::standsStill),
        Fault.of("Redis flushed", REDIS, RedisFaults::flushed),
        Fault.of("Redis in cluster mode", REDIS, this::inClusterMode));
  }

  private void killed(Scene scene) throws Exception {
    scene.truth().cacheLost();
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
    scene.truth().cacheLost();
    administer(scene, redis -> redis.sync().flushall());
  }

  /**
   * Restarts Redis with its data as a cluster of one node, which serves every hash slot. Then
   * restarts Redis in its normal mode.
   */
  private void inClusterMode(Scene scene) throws Exception {
    Cluster cluster = scene.cluster();
    cluster.stopRedis();
    cluster.startRedis("--cluster-enabled", "yes");
    try {
      administer(scene, RedisFaults::serveAllSlots);
      for (Member node : cluster.ingest()) {
        Expect.that(
            node.name() + " reports that Redis is in cluster mode",
            () -> cluster.health(node).contains("cluster mode"));
      }
      lasting.aWhile(scene.random());
    } finally {
      cluster.stopRedis();
      cluster.startRedis();
    }
  }

  /**
   * Assigns the missing hash slots to the server. When the server starts, it already serves the
   * slots of its keys.
   */
  private static void serveAllSlots(StatefulRedisConnection<String, String> redis) {
    BitSet missing = new BitSet(SLOTS);
    missing.set(0, SLOTS);
    for (Object range : redis.sync().clusterSlots()) {
      List<?> ends = (List<?>) range;
      missing.clear(((Long) ends.get(0)).intValue(), ((Long) ends.get(1)).intValue() + 1);
    }
    if (!missing.isEmpty()) { // a server that was a cluster before already serves all slots
      redis.sync().clusterAddSlots(missing.stream().toArray());
    }
  }

  private static void administer(
      Scene scene, Consumer<StatefulRedisConnection<String, String>> action) {
    RedisClient client = RedisClient.create(scene.cluster().redis().uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      action.accept(connection);
    } finally {
      client.shutdown();
    }
  }
}
