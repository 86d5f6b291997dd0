// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import com.sun.management.OperatingSystemMXBean;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * A load generator for a decision cache. Blocking callers send their next call when they have the
 * decision on the previous call. Arguments: URI, seconds, number of callers, number of keys,
 * buckets per check. Prints the decisions per second and the latencies of the second half of the
 * run.
 */
public final class CacheLoadMain {
  /** Number of latencies per caller. The newest latencies overwrite the oldest. */
  private static final int SAMPLES = 1 << 14;

  private CacheLoadMain() {}

  /** Runs the load. */
  public static void main(String[] arguments) throws InterruptedException {
    String uri = arguments[0];
    int seconds = Integer.parseInt(arguments[1]);
    int callers = Integer.parseInt(arguments[2]);
    int keys = Integer.parseInt(arguments[3]);
    int bucketsPerCheck = arguments.length > 4 ? Integer.parseInt(arguments[4]) : 1;
    int maxInFlight = Integer.getInteger("maxInFlight", 0);
    Check[] checks = checks(keys, bucketsPerCheck);
    RedisCacheConfig defaults = RedisCacheConfig.of(uri);
    RedisCacheConfig config =
        maxInFlight == 0
            ? defaults
            : defaults.withQueue(defaults.queueCapacity(), defaults.maxBatchBuckets(), maxInFlight);

    MeterRegistry registry = new SimpleMeterRegistry();
    try (RedisDecisionCache cache = RedisDecisionCache.start(config, registry)) {
      LongAdder decided = new LongAdder();
      LongAdder undecided = new LongAdder();
      long[][] latenciesNanos = new long[callers][SAMPLES];
      long startNanos = System.nanoTime();
      long halfNanos = startNanos + TimeUnit.SECONDS.toNanos(seconds) / 2;
      long endNanos = startNanos + TimeUnit.SECONDS.toNanos(seconds);
      ExecutorService threads = callerThreads(callers);
      for (int i = 0; i < callers; i++) {
        long[] samples = latenciesNanos[i];
        threads.execute(
            () -> call(cache, checks, samples, decided, undecided, halfNanos, endNanos));
      }
      threads.shutdown();
      threads.awaitTermination(halfNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
      long cpuNanos = cpuNanos();
      if (!threads.awaitTermination(seconds + 30L, TimeUnit.SECONDS)) {
        throw new IllegalStateException("callers hang");
      }
      cpuNanos = cpuNanos() - cpuNanos;
      print(
          cpuNanos,
          decided.sum() * 2.0 / seconds,
          seconds,
          undecided.sum(),
          latenciesNanos,
          registry);
      if (undecided.sum() > 0) {
        throw new IllegalStateException(undecided.sum() + " calls were not decided");
      }
    }
  }

  private static long cpuNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private static Check[] checks(int keys, int bucketsPerCheck) {
    TokenBucketLimit limit = new TokenBucketLimit(1_000_000, 1_000_000, 1_000_000);
    Check[] checks = new Check[keys];
    for (int key = 0; key < keys; key++) {
      BucketRequest[] buckets = new BucketRequest[bucketsPerCheck];
      for (int i = 0; i < bucketsPerCheck; i++) {
        buckets[i] =
            new BucketRequest(BucketKey.of("policy-" + i, "client-" + key).text(), limit, true);
      }
      checks[key] = new Check(List.of(buckets), 1);
    }
    return checks;
  }

  private static void call(
      DecisionCache cache,
      Check[] checks,
      long[] samples,
      LongAdder decided,
      LongAdder undecided,
      long halfNanos,
      long endNanos) {
    int sample = 0;
    for (long nowNanos = System.nanoTime(); nowNanos < endNanos; ) {
      Check check = checks[ThreadLocalRandom.current().nextInt(checks.length)];
      boolean answered = cache.take(check) instanceof Decision.Decided;
      long thenNanos = System.nanoTime();
      if (thenNanos >= halfNanos) {
        (answered ? decided : undecided).increment();
        samples[sample++ % SAMPLES] = thenNanos - nowNanos;
      }
      nowNanos = thenNanos;
    }
  }

  private static ExecutorService callerThreads(int callers) {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (ReflectiveOperationException before21) {
      return Executors.newFixedThreadPool(callers);
    }
  }

  private static double count(MeterRegistry registry, String name) {
    return registry.get("weir.cache." + name).counter().count();
  }

  private static void print(
      long cpuNanos,
      double decisionsPerSecond,
      int seconds,
      long undecided,
      long[][] latenciesNanos,
      MeterRegistry registry) {
    long[] all =
        Arrays.stream(latenciesNanos)
            .flatMapToLong(Arrays::stream)
            .filter(n -> n > 0)
            .sorted()
            .toArray();
    System.out.printf(
        Locale.ROOT,
        "java=%s decisions_per_second=%.0f latency_micros_p50=%d latency_micros_p99=%d"
            + " undecided=%d jvm_micros_each=%.2f asked=%d mean_batch=%.1f latency_micros_max=%d%n",
        System.getProperty("java.version"),
        decisionsPerSecond,
        all[all.length / 2] / 1_000,
        all[(int) (all.length * 0.99)] / 1_000,
        undecided,
        cpuNanos / 1_000.0 / (decisionsPerSecond * seconds / 2),
        (long) count(registry, "asked"),
        count(registry, "checks.sent") / count(registry, "script.calls"),
        all[all.length - 1] / 1_000);
  }
}
