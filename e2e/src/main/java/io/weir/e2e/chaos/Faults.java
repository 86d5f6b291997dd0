// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/** The faults that can be injected. */
final class Faults {
  /** Long enough for time-outs of a second or less to strike, on both sides. */
  private static final long SHORT_MILLIS = 2_000;

  private final long longestMillis;

  /**
   * Faults that last so long at most.
   *
   * @param longest above 2 s; with 15 s the sessions of all clients end now and then
   */
  Faults(Duration longest) {
    longestMillis = longest.toMillis();
  }

  /** All of them, each of its own kind. */
  List<Fault> all() {
    return List.of(
        new Fault("ingest killed", (c, r) -> killAndStart(c.ingest(r.nextInt(2)), r)),
        new Fault("ingest stands still", (c, r) -> pause(c.ingest(r.nextInt(2)), r)),
        new Fault("ingest stopped in order", (c, r) -> terminateAndStart(c.ingest(r.nextInt(2)))),
        new Fault("both ingest killed", Faults::bothIngestKilled),
        new Fault("aggregator killed", (c, r) -> killAndStart(c.aggregator(r.nextInt(2)), r)),
        new Fault("aggregator stands still", (c, r) -> pause(c.aggregator(r.nextInt(2)), r)),
        new Fault(
            "aggregator stopped in order", (c, r) -> terminateAndStart(c.aggregator(r.nextInt(2)))),
        new Fault("both aggregators killed", Faults::bothAggregatorsKilled),
        new Fault("aggregator's state lost", Faults::stateLost),
        new Fault("broker killed", (c, r) -> killAndStart(c.broker(), r)),
        new Fault("broker stands still", (c, r) -> pause(c.broker(), r)),
        new Fault("broker away, ingest killed meanwhile", this::brokerAwayIngestKilled),
        new Fault("Redis killed", Faults::redisKilled),
        new Fault("Redis stands still", this::redisPaused),
        new Fault("Redis flushed", Faults::redisFlushed));
  }

  private static void killAndStart(Member member, RandomGenerator random) throws Exception {
    member.kill();
    hold(random.nextLong(SHORT_MILLIS));
    member.start();
  }

  private static void terminateAndStart(Member member) throws Exception {
    member.terminate();
    member.start();
  }

  private void pause(Member member, RandomGenerator random) throws Exception {
    member.pause();
    try {
      hold(random.nextLong(SHORT_MILLIS / 2, longestMillis));
    } finally {
      member.resume();
    }
  }

  private static void bothIngestKilled(Cluster cluster, RandomGenerator random) throws Exception {
    cluster.ingest(0).kill();
    cluster.ingest(1).kill();
    hold(random.nextLong(SHORT_MILLIS));
    cluster.ingest(0).start();
    cluster.ingest(1).start();
  }

  private static void bothAggregatorsKilled(Cluster cluster, RandomGenerator random)
      throws Exception {
    cluster.aggregator(0).kill();
    hold(random.nextLong(SHORT_MILLIS));
    cluster.aggregator(1).kill();
    cluster.aggregator(0).start();
    cluster.aggregator(1).start();
  }

  private static void stateLost(Cluster cluster, RandomGenerator random) throws Exception {
    int which = random.nextInt(2);
    cluster.aggregator(which).kill();
    cluster.deleteState(which);
    cluster.aggregator(which).start();
  }

  /** Calls go on into the journal while Kafka is away, and the journal is all that is left. */
  private void brokerAwayIngestKilled(Cluster cluster, RandomGenerator random) throws Exception {
    cluster.broker().kill();
    hold(longestMillis);
    Member node = cluster.ingest(random.nextInt(2));
    node.kill();
    cluster.broker().start();
    node.start();
  }

  private static void redisKilled(Cluster cluster, RandomGenerator random) throws Exception {
    cluster.killRedis();
    hold(random.nextLong(SHORT_MILLIS));
    cluster.startRedis();
  }

  private void redisPaused(Cluster cluster, RandomGenerator random)
      throws IOException, InterruptedException {
    Signals.send("STOP", cluster.redis().pid());
    try {
      hold(random.nextLong(SHORT_MILLIS / 2, longestMillis));
    } finally {
      Signals.send("CONT", cluster.redis().pid());
    }
  }

  private static void redisFlushed(Cluster cluster, RandomGenerator random) {
    RedisClient client = RedisClient.create(cluster.redis().uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      connection.sync().flushall();
    } finally {
      client.shutdown();
    }
  }

  /** The length of a fault is part of it; nothing is awaited here. */
  private static void hold(long millis) throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(millis);
  }
}
