// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.e2e.healing.Rule.Place;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Redis is replaced by a replica that has missed the last writes. */
@FullSuite(
    reason =
        "a primary and a replica; RedisRestartIT, which always runs, brings an older file back, FlushIT an empty Redis")
final class FailoverIT {
  private static final int CLIENTS = 200;
  private static final double CALLS_PER_SECOND = 600;

  /** So many that half of the bursts are nearly used up, and that what heals them has run warm. */
  private static final long BEFORE_THE_FIRST = 12 * (long) CALLS_PER_SECOND;

  /** Number of calls that the replica receives before it misses the same number. */
  private static final long MISSED = 2 * (long) CALLS_PER_SECOND;

  private static final int FAILOVERS = Lengths.of(1, 10);
  private static final long AFTER_A_FAILOVER = 5 * (long) CALLS_PER_SECOND;

  /**
   * Every other client asks for more than is refilled, so that missed calls are missed tokens. In
   * the short form next to nothing is refilled, however slowly the calls are answered, and half of
   * the clients use less than a bucket holds.
   */
  private static final Rule BURST =
      Rule.bucket(
              "burst",
              "*",
              Lengths.of(70, 30),
              Lengths.of(Duration.ofMinutes(2), Duration.ofMillis(250)))
          .debtCap(1_000);

  private static final Rule MONTHLY = Rule.quota("monthly", "*", 1_000_000);
  private static final List<Rule> RULES = List.of(BURST, MONTHLY);

  @TempDir private Path folder;

  private static Load.Call call(long n) {
    return new Load.Call("client-" + n % CLIENTS, "GET /v1/items", 1 + n % 2);
  }

  @Test
  void redisReplacedByAReplicaThatMissedCalls_bucketsAreRightAgainAndQuotasExact()
      throws Exception {
    long now = System.currentTimeMillis();
    List<Place> bursts =
        IntStream.range(0, CLIENTS).mapToObj(i -> BURST.place("client-" + i, now)).toList();
    try (Fleet fleet = Fleet.start(folder, RULES, 2, TestRedis.startProcess());
        CallTopic topic = new CallTopic(fleet.kafka())) {
      TestRedis primary = fleet.redis();
      for (int i = 0; i < FAILOVERS; i++) {
        List<KeptBucket> seen;
        long switchedAtMicros;
        Oracle oracle;
        try (Load load = Load.on(fleet, 8, CALLS_PER_SECOND, FailoverIT::call)) {
          load.start().awaitAnswered(BEFORE_THE_FIRST);
          TestRedis replica = replicaOf(primary);
          load.awaitAnswered(MISSED); // the replica keeps up
          promote(replica);
          load.awaitAnswered(MISSED);
          try (RedisEye eye = new RedisEye(replica.uri());
              BucketWatch watch = BucketWatch.start(replica.uri(), bursts)) {
            switchedAtMicros = eye.epochMicros();
            fleet.route().pointTo(replica.uri());
            primary.kill();
            primary = replica;
            load.awaitAnswered(AFTER_A_FAILOVER);
            load.stop();
            System.out.println("failover: " + load);
            oracle = new Oracle(RULES, topic.through(System.currentTimeMillis(), 2));
            Standing.awaitRight(oracle, eye);
            seen = watch.stop();
          }
        }
        HealTimes times = HealTimes.of(oracle, seen, switchedAtMicros);
        System.out.println("failover: " + times);
        assertTrue(times.disturbed() > CLIENTS / 4, () -> "hardly disturbed: " + times);
        assertEquals(List.of(), times.neverHealed().stream().limit(5).toList());
        assertEquals(List.of(), Standing.tooEmpty(oracle, seen).stream().limit(5).toList());
        Lengths.assertHealedInTime(times);
      }
      primary.close();
    }
  }

  private static TestRedis replicaOf(TestRedis primary) throws Exception {
    URI address = URI.create(primary.uri());
    TestRedis replica =
        TestRedis.startProcess(
            "--repl-diskless-sync-delay",
            "0",
            "--replicaof",
            address.getHost(), // on its own: before Redis 7 both in one are refused
            Integer.toString(address.getPort()));
    RedisClient client = RedisClient.create(replica.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      Await.until(
          "the replica to follow",
          () -> connection.sync().info("replication").contains("master_link_status:up"));
    } finally {
      client.shutdown();
    }
    return replica;
  }

  private static void promote(TestRedis replica) {
    RedisClient client = RedisClient.create(replica.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      connection.sync().replicaofNoOne();
    } finally {
      client.shutdown();
    }
  }
}
