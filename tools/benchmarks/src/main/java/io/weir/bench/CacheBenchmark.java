// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.RedisServer;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;

/**
 * Measures decisions per second of {@code DecisionCache} and of bucket4j with the same redis-server
 * and policy. Also measures the speed of Redis for a minimal script.
 */
final class CacheBenchmark {
  private static final int CALLERS = 64;

  /**
   * Number of calls in progress, the same as in redis-benchmark with 64 connections and a pipeline
   * of 16.
   */
  private static final int IN_FLIGHT = 1_024;

  private static final int KEYS = 10_000;
  private static final long CAPACITY = 1_000_000;
  private static final String BUCKET4J = "bucket4j 8.19, Lettuce";
  private static final BucketConfiguration BUCKET4J_LIMIT =
      BucketConfiguration.builder()
          .addLimit(limit -> limit.capacity(CAPACITY).refillGreedy(CAPACITY, Duration.ofSeconds(1)))
          .build();
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(CAPACITY, CAPACITY, 1_000_000);

  private final Duration warmUp;
  private final Duration length;
  private final PrintStream out;

  CacheBenchmark(Duration warmUp, Duration length, PrintStream out) {
    this.warmUp = warmUp;
    this.length = length;
    this.out = out;
  }

  void run(Path folder) throws IOException, InterruptedException {
    try (RedisServer redis = RedisServer.start(folder.resolve("redis"), 0, "--appendonly", "no")) {
      for (int keys : new int[] {KEYS, 1}) {
        String pattern = keys == 1 ? "one hot key" : KEYS + " keys";
        out.printf("%n%d callers, %s%n", CALLERS, pattern);
        Callers.Result weir = weir(redis, checks(keys));
        out.println(weir);
        Callers.Result bucket4j = bucket4j(redis, keys);
        out.println(bucket4j);
        out.printf("weir / bucket4j: %.1f%n", weir.callsPerSecond() / bucket4j.callsPerSecond());
      }
      out.printf("%n%d calls in progress, %d keys%n", IN_FLIGHT, KEYS);
      Callers.Result pipelined = weirPipelined(redis);
      out.println(pipelined);
      Callers.Result rival = bucket4jPipelined(redis);
      out.println(rival);
      out.printf("weir / bucket4j: %.1f%n", pipelined.callsPerSecond() / rival.callsPerSecond());
      out.printf(
          "%n%d callers, 3 buckets per check: one of %d clients, one of 10 endpoints, one shared%n",
          CALLERS, KEYS);
      Callers.Result layers = weir(redis, layers());
      out.println(layers);
      Callers.Result ofRival = bucket4jLayers(redis);
      out.println(ofRival);
      out.printf("weir / bucket4j: %.1f%n", layers.callsPerSecond() / ofRival.callsPerSecond());
      out.printf("%n2 callers, 10 keys%n");
      out.println(LeasedDecisions.run(redis, warmUp, length));
      bareScript(redis);
    }
  }

  private Callers.Result weir(RedisServer redis, List<Check> checks) throws InterruptedException {
    return overWeir(
        redis,
        (cache, undecided) ->
            Callers.run(
                "weir, cache port",
                CALLERS,
                checks.size(),
                warmUp,
                length,
                key -> {
                  if (cache.take(checks.get(key)) instanceof Decision.Undecided) {
                    undecided.increment();
                  }
                }));
  }

  private Callers.Result weirPipelined(RedisServer redis) throws InterruptedException {
    List<Check> checks = checks(KEYS);
    return overWeir(
        redis,
        (cache, undecided) ->
            PipelinedCaller.run(
                "weir, cache port",
                IN_FLIGHT,
                KEYS,
                warmUp,
                length,
                key ->
                    cache
                        .submit(checks.get(key))
                        .whenComplete(
                            (decision, error) -> {
                              if (decision instanceof Decision.Undecided) {
                                undecided.increment();
                              }
                            })));
  }

  private static List<Check> checks(int keys) {
    List<Check> checks = new ArrayList<>();
    for (int i = 0; i < keys; i++) {
      String bucket = BucketKey.of("burst", "client-" + i).text();
      checks.add(new Check(List.of(new BucketRequest(bucket, LIMIT, true)), 1));
    }
    return checks;
  }

  /** Returns checks with three buckets: of the client, of the endpoint, and of all calls. */
  private static List<Check> layers() {
    List<Check> checks = new ArrayList<>();
    for (int i = 0; i < KEYS; i++) {
      List<BucketRequest> buckets = new ArrayList<>();
      for (String name : layerNames(i)) {
        buckets.add(new BucketRequest("layers:" + name, LIMIT, true));
      }
      checks.add(new Check(buckets, 1));
    }
    return checks;
  }

  private static List<String> layerNames(int client) {
    return List.of("client-" + client, "endpoint-" + client % 10, "all");
  }

  /** A measured run of the cache. The run counts the calls that the cache did not decide. */
  private interface PortRun {
    Callers.Result over(RedisDecisionCache cache, LongAdder undecided) throws InterruptedException;
  }

  private static Callers.Result overWeir(RedisServer redis, PortRun run)
      throws InterruptedException {
    RedisCacheConfig config = RedisCacheConfig.of(redis.uri()).withDeadline(Duration.ofSeconds(2));
    LongAdder undecided = new LongAdder();
    try (RedisDecisionCache cache = RedisDecisionCache.start(config)) {
      Callers.Result result = run.over(cache, undecided);
      if (undecided.sum() > 0) {
        throw new IllegalStateException(undecided.sum() + " calls were not decided by the cache");
      }
      return result;
    }
  }

  private Callers.Result bucket4j(RedisServer redis, int keys) throws InterruptedException {
    return overBucket4j(
        redis,
        manager ->
            Callers.run(
                BUCKET4J,
                CALLERS,
                keys,
                warmUp,
                length,
                key ->
                    manager
                        .builder()
                        .build("b4j-" + key, () -> BUCKET4J_LIMIT)
                        .tryConsumeAndReturnRemaining(1)));
  }

  /**
   * Takes from three buckets one after another, because bucket4j has no operation for several
   * buckets.
   */
  private Callers.Result bucket4jLayers(RedisServer redis) throws InterruptedException {
    return overBucket4j(
        redis,
        manager ->
            Callers.run(
                BUCKET4J,
                CALLERS,
                KEYS,
                warmUp,
                length,
                key -> {
                  for (String name : layerNames(key)) {
                    manager
                        .builder()
                        .build("b4j-layers-" + name, () -> BUCKET4J_LIMIT)
                        .tryConsumeAndReturnRemaining(1);
                  }
                }));
  }

  private Callers.Result bucket4jPipelined(RedisServer redis) throws InterruptedException {
    CompletableFuture<BucketConfiguration> configuration =
        CompletableFuture.completedFuture(BUCKET4J_LIMIT);
    return overBucket4j(
        redis,
        manager ->
            PipelinedCaller.run(
                BUCKET4J,
                IN_FLIGHT,
                KEYS,
                warmUp,
                length,
                key ->
                    manager
                        .asAsync()
                        .builder()
                        .build("b4j-" + key, () -> configuration)
                        .tryConsumeAndReturnRemaining(1)));
  }

  /** A measured run of bucket4j. */
  private interface RivalRun {
    Callers.Result over(ProxyManager<String> manager) throws InterruptedException;
  }

  private static Callers.Result overBucket4j(RedisServer redis, RivalRun run)
      throws InterruptedException {
    RedisClient client = RedisClient.create(redis.uri());
    try (StatefulRedisConnection<String, byte[]> connection =
        client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE))) {
      return run.over(Bucket4jLettuce.casBasedBuilder(connection).build());
    } finally {
      client.shutdown();
    }
  }

  /**
   * Measures with redis-benchmark how often Redis runs a minimal script per second. The script has
   * only the commands that every bucket needs.
   */
  private void bareScript(RedisServer redis) throws IOException, InterruptedException {
    Path script = Files.createTempFile("weir-bare", ".lua");
    Files.writeString(
        script,
        "local now=redis.call('TIME') local s=redis.call('GET',KEYS[1])"
            + " redis.call('SET',KEYS[1],now[1]..'.'..now[2],'PX',60000) return 1");
    String body = Files.readString(script);
    for (String pipeline : new String[] {"1", "16"}) {
      List<String> command =
          List.of(
              "redis-benchmark",
              "-p",
              Integer.toString(redis.port()),
              "-c",
              "64",
              "-n",
              "400000",
              "-r",
              Integer.toString(KEYS),
              "-P",
              pipeline,
              "-q",
              "EVAL",
              body,
              "1",
              "bare-__rand_int__");
      Process process;
      try {
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
      } catch (IOException missing) {
        out.println("redis-benchmark is not on PATH: the bare script was not measured");
        return;
      }
      String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      process.waitFor();
      String last = text.strip();
      out.println(
          "bare script, redis-benchmark -P "
              + pipeline
              + ": "
              + last.substring(last.lastIndexOf('\r') + 1).replaceAll("^EVAL.*: ", ""));
    }
    Files.delete(script);
  }
}
