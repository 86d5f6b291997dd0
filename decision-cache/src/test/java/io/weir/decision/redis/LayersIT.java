// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketState;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.IpAddress;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;

/**
 * Tests checks with several limits and concurrent callers. Clients share some of the limits. A
 * check charges all buckets or none.
 */
@CoreSuite
class LayersIT {
  private static final int THREADS = 64;
  private static final int CALLS_OF_A_THREAD = 60;
  private static final int CLIENTS = 8;
  private static final int ENDPOINTS = 4;
  private static final long OF_CLIENT = 80;
  private static final long OF_ENDPOINT = 130;
  private static final long OF_NETWORK = 220;
  private static final long OF_ALL = 400;
  private static final int LAYERS_COUNT = 4;

  private static final PolicyMatcher LAYERS =
      PolicyMatcher.of(
          new PolicySet(
              1,
              List.of(
                  layer("client", OF_CLIENT, KeyPart.CLIENT),
                  layer("endpoint", OF_ENDPOINT, KeyPart.ENDPOINT),
                  layer("network", OF_NETWORK, KeyPart.IP),
                  layer("all", OF_ALL))));

  private static Policy layer(String name, long limit, KeyPart... key) {
    return new Policy(
        name,
        PolicyMatch.ANY,
        List.of(key),
        new CalendarQuota(
            limit, CalendarPeriod.MONTH, ZoneId.of("UTC"), CalendarQuota.FIRST_OF_MONTH),
        PolicyMode.ENFORCE,
        CacheFailureMode.CLOSED);
  }

  private static Check check(int client, int endpoint, int network, long cost) {
    CallFacts call =
        new CallFacts(
            "client-" + client,
            "GET /" + endpoint,
            "calls",
            IpAddress.parse("10.0.0." + network),
            Map.of());
    return LAYERS.match(call, 4_000_000_000_000L).check(cost);
  }

  @Test
  void manyThreads_takeFromAllLayersOrNone_toTheToken() throws Exception {
    Map<String, LongAdder> taken = new ConcurrentHashMap<>();
    LongAdder allowed = new LongAdder();
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis))) {
      Await.until("a connection", () -> cache.check().ok());
      ExecutorService threads = Executors.newFixedThreadPool(THREADS);
      try {
        List<CompletableFuture<Void>> calling = new ArrayList<>();
        for (int t = 0; t < THREADS; t++) {
          Random random = new Random(t);
          calling.add(
              CompletableFuture.runAsync(() -> call(cache, random, taken, allowed), threads));
        }
        calling.forEach(CompletableFuture::join);
      } finally {
        threads.shutdownNow();
      }

      long used = 0;
      for (int client = 0; client < CLIENTS; client++) {
        for (int endpoint = 0; endpoint < ENDPOINTS; endpoint++) {
          for (int network = 0; network < 3; network++) {
            Check check = check(client, endpoint, network, 1);
            Decision.Decided left = assertInstanceOf(Decision.Decided.class, cache.peek(check));
            for (int i = 0; i < check.buckets().size(); i++) {
              BucketRequest bucket = check.buckets().get(i);
              BucketReply reply = left.buckets().get(i);
              LongAdder told = taken.get(bucket.bucket());
              long expected = told == null ? 0 : told.sum();
              assertEquals(expected, reply.chargedTokens(), bucket.bucket());
              assertEquals(
                  bucket.limit().capacityTokens() - expected,
                  reply.remainingTokens(),
                  bucket.bucket());
              if (i == 3) {
                used = reply.chargedTokens();
              }
            }
          }
        }
      }
      assertEquals(allowed.sum(), used);
      assertTrue(used > OF_ALL - 5, "the layers were not used up: " + used);
    }
  }

  private static void call(
      RedisDecisionCache cache, Random random, Map<String, LongAdder> taken, LongAdder allowed) {
    for (int i = 0; i < CALLS_OF_A_THREAD; i++) {
      long cost = random.nextLong(1, 6);
      Check check =
          check(random.nextInt(CLIENTS), random.nextInt(ENDPOINTS), random.nextInt(3), cost);
      if (cache.take(check) instanceof Decision.Allowed) {
        allowed.add(cost);
        for (BucketRequest bucket : check.buckets()) {
          taken.computeIfAbsent(bucket.bucket(), key -> new LongAdder()).add(cost);
        }
      }
    }
  }

  /** A denial by one bucket does not change the other buckets. */
  @Test
  void refusalByOneLayer_leavesAllOthersBitIdentical() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.setClock(1_800_000_000_000_000L);
      runner.setWarm(true);
      for (int refusing = 0; refusing < LAYERS_COUNT; refusing++) {
        Check check = check(10 * refusing, 10 * refusing, 10 + refusing, 1);
        assertInstanceOf(Decision.Allowed.class, runner.take(check));
        BucketRequest full = check.buckets().get(refusing);
        long left = full.limit().capacityTokens() - usedOf(runner, full.bucket());
        assertInstanceOf(Decision.Allowed.class, runner.take(new Check(List.of(full), left)));
        Map<String, List<String>> before = dumps(runner, check);

        Decision.Denied denied = assertInstanceOf(Decision.Denied.class, runner.take(check));

        assertEquals(refusing, denied.decidingBucket());
        assertEquals(before, dumps(runner, check));
      }
    }
  }

  private static long usedOf(ScriptRunner runner, String bucket) {
    BucketState state = runner.state(bucket);
    assertNotNull(state, bucket);
    return state.chargedTokens();
  }

  private static Map<String, List<String>> dumps(ScriptRunner runner, Check check) {
    Map<String, List<String>> dumps = new HashMap<>();
    for (BucketRequest bucket : check.buckets()) {
      dumps.put(bucket.bucket(), runner.dump(new Check(List.of(bucket), 1)));
    }
    return dumps;
  }
}
