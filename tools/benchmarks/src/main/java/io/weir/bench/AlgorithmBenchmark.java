// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.FixedWindow;
import io.weir.limits.PolicyLimit;
import io.weir.limits.SlidingLog;
import io.weir.limits.SlidingWindow;
import io.weir.limits.SlotClaim;
import io.weir.limits.TokenBucketLimit;
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
import io.weir.servers.RedisServer;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Measures each algorithm with one policy and with three policies, 10,000 clients and 1,024 calls
 * in progress. Prints decisions per second, Redis' CPU per decision, and Redis' memory per client.
 * Also measures bucket4j, and npm's rate-limiter-flexible if Node is installed. Rounds of different
 * limiters alternate, so that all limiters have the same conditions.
 */
final class AlgorithmBenchmark {
  private static final int ROUNDS = 3;
  private static final long MANY = 1_000_000;

  private static final Map<String, PolicyLimit> LIMITS = limits();

  private final PrintStream out;

  AlgorithmBenchmark(PrintStream out) {
    this.out = out;
  }

  private static Map<String, PolicyLimit> limits() {
    Map<String, PolicyLimit> limits = new LinkedHashMap<>();
    limits.put("token-bucket", new TokenBucketLimit(MANY, MANY, 1_000_000));
    limits.put(
        "quota",
        new CalendarQuota(MANY, CalendarPeriod.DAY, ZoneOffset.UTC, CalendarQuota.FIRST_OF_MONTH));
    limits.put(
        "fixed-window", new FixedWindow(MANY, 60, FixedWindow.Alignment.EPOCH, ZoneOffset.UTC));
    limits.put("sliding-window", new SlidingWindow(MANY, 10, 1));
    limits.put("sliding-window, 5 sub-windows", new SlidingWindow(MANY, 10, 5));
    limits.put("sliding-log", new SlidingLog(SlidingLog.MAX_TOKENS, 10_000_000));
    return limits;
  }

  void run(Path folder) throws IOException, InterruptedException {
    try (RedisServer redis = RedisServer.start(folder.resolve("redis"), 0, "--appendonly", "no")) {
      RedisClient client = RedisClient.create(redis.uri());
      try (StatefulRedisConnection<String, byte[]> connection =
              client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE));
          StatefulRedisConnection<String, byte[]> rivals =
              client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE));
          RedisDecisionCache cache =
              RedisDecisionCache.start(
                  RedisCacheConfig.of(redis.uri()).withDeadline(Duration.ofSeconds(5)))) {
        List<Contender> contenders = new ArrayList<>();
        for (int layers : new int[] {1, 3}) {
          LIMITS.forEach((name, limit) -> contenders.add(weir(cache, name, limit, layers)));
        }
        contenders.add(slots(cache));
        contenders.add(bucket4j(rivals));
        out.printf(
            "%d clients, %d calls in progress, rounds of %d s%n",
            Contender.KEYS, Contender.IN_FLIGHT, Contender.LENGTH.toSeconds());
        for (int round = 1; round <= ROUNDS; round++) {
          out.printf("round %d%n", round);
          for (Contender contender : contenders) {
            contender.measure(List.of(connection.sync()), out);
          }
          FlexibleLimiter.run(folder, redis.port(), Contender.KEYS, Contender.IN_FLIGHT, out);
        }
      } finally {
        client.shutdown();
      }
    }
  }

  private static Contender weir(
      RedisDecisionCache cache, String name, PolicyLimit limit, int layers) {
    List<Policy> policies = new ArrayList<>();
    for (int i = 0; i < layers; i++) {
      policies.add(policy("p" + i, limit));
    }
    PolicyMatcher matcher = PolicyMatcher.of(new PolicySet(1, policies));
    List<CallFacts> calls = new ArrayList<>();
    for (int i = 0; i < Contender.KEYS; i++) {
      calls.add(new CallFacts("client-" + i, "-", "calls"));
    }
    return new Contender(
        "weir " + name + (layers == 1 ? "" : ", " + layers + " layers"),
        "w1:*",
        key -> {
          Check check = matcher.match(calls.get(key), System.currentTimeMillis()).check(1);
          return cache.submit(check).thenApply(Decision.Allowed.class::isInstance);
        });
  }

  private static Policy policy(String name, PolicyLimit limit) {
    return new Policy(
        name,
        PolicyMatch.ANY,
        List.of(KeyPart.CLIENT),
        limit,
        PolicyMode.ENFORCE,
        CacheFailureMode.OPEN);
  }

  /** Creates a contender that takes and releases a slot for each call, with two Redis calls. */
  private static Contender slots(RedisDecisionCache cache) {
    ConcurrencyLimit limit = new ConcurrencyLimit(ConcurrencyLimit.MAX_SLOTS, 60_000_000);
    PolicyMatcher matcher = PolicyMatcher.of(new PolicySet(1, List.of(policy("p", limit))));
    AtomicLong calls = new AtomicLong();
    return new Contender(
        "weir concurrency, take and release",
        "w1:*",
        key -> {
          CallFacts call = new CallFacts("client-" + key, "-", "calls");
          SlotClaim claim = SlotClaim.of(call.client(), Long.toString(calls.getAndIncrement()));
          Check check = matcher.match(call, System.currentTimeMillis()).check(1, claim);
          return cache
              .submit(check)
              .thenCompose(
                  taken ->
                      cache
                          .submitRelease(check)
                          .thenApply(
                              released ->
                                  taken instanceof Decision.Allowed
                                      && released instanceof Decision.Allowed));
        });
  }

  private static Contender bucket4j(StatefulRedisConnection<String, byte[]> connection) {
    BucketConfiguration limit =
        BucketConfiguration.builder()
            .addLimit(each -> each.capacity(MANY).refillGreedy(MANY, Duration.ofSeconds(1)))
            .build();
    var manager = Bucket4jLettuce.casBasedBuilder(connection).build();
    CompletableFuture<BucketConfiguration> configuration = CompletableFuture.completedFuture(limit);
    return new Contender(
        "bucket4j 8.19, token bucket",
        "b4j-*",
        key -> manager.asAsync().builder().build("b4j-" + key, () -> configuration).tryConsume(1));
  }
}
