// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.metrics.MicrometerCommandLatencyRecorder;
import io.lettuce.core.metrics.MicrometerOptions;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.decision.deny.DenyCache;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;

/**
 * A decision cache in a Redis server. Callers add their checks to a bounded queue; the thread that
 * reads the connection sends all waiting checks as one script call, and completes the decisions
 * when the reply comes. Several calls may be in flight. Thread-safe.
 *
 * <p>If the server has not answered a call within the deadline, its callers are answered {@link
 * Cause#TIMEOUT}, and whether they were charged is unknown; until the next reply all other callers
 * are answered so at once. Time in which this process could not read does not count ({@link
 * ReplyWatch}). Without a connection the answer is {@link Cause#UNAVAILABLE} at once; the
 * connection is re-established in the background, so a start does not need a running server either.
 *
 * <p>A denial is repeated without asking the server for as long as it certainly holds, if the
 * settings have an age for that ({@link DenyCache}): {@link Decision.StillDenied}.
 *
 * <p>If this process itself could not send the check, or read the answer, within the caller's
 * patience, the answer is {@link Cause#REJECTED}: that implies nothing about the server, and is no
 * reason to let a call pass.
 */
public final class RedisDecisionCache implements DecisionCache {
  private final RedisCacheConfig config;
  private final CacheStatistics statistics;
  private final CheckEncoder encoder = new CheckEncoder();
  private final ColdSignal coldSignal = new ColdSignal();
  private final DenyCache denyCache;
  private final RedisLink link;
  private final Flusher flusher;
  private final HealthProbe probe;
  private volatile boolean closed;

  private RedisDecisionCache(RedisCacheConfig config, RedisScript script, MeterRegistry registry) {
    this.config = config;
    this.statistics = new CacheStatistics(registry);
    this.denyCache = new DenyCache(config.denyCacheAge(), NanoClock::now);
    this.link =
        new RedisLink(
            config,
            script,
            statistics.connections::increment,
            denyCache.isOn() ? this::raised : null,
            statistics.faultsOf(),
            new MicrometerCommandLatencyRecorder(registry, MicrometerOptions.create()));
    this.flusher = new Flusher(config, script, link, statistics, coldSignal, denyCache);
    this.probe = new HealthProbe(link, flusher.watch());
    Gauge.builder("weir.cache.up", this, cache -> cache.check().ok() ? 1 : 0)
        .description("1 when the cache answers, else 0")
        .register(registry);
    Gauge.builder("weir.deny.cache.buckets", denyCache, DenyCache::bucketCount)
        .description("buckets whose calls are denied without asking Redis")
        .register(registry);
  }

  private void raised(byte[] bucket) {
    denyCache.drop(new String(bucket, StandardCharsets.UTF_8));
  }

  /**
   * Starts a cache whose metrics nobody reads, see {@link #start(RedisCacheConfig, MeterRegistry)}.
   */
  public static RedisDecisionCache start(RedisCacheConfig config) {
    return start(config, new SimpleMeterRegistry());
  }

  /**
   * Starts a cache. Waits for the first attempt to connect, not for its success, which {@link
   * #check} and {@link #evictionCheck} report.
   *
   * @param registry receives the metrics of the cache
   * @throws IllegalArgumentException if the URI is not valid
   */
  public static RedisDecisionCache start(RedisCacheConfig config, MeterRegistry registry) {
    return start(config, RedisScript.takeTokens(), registry);
  }

  static RedisDecisionCache start(RedisCacheConfig config, RedisScript script) {
    return start(config, script, new SimpleMeterRegistry());
  }

  private static RedisDecisionCache start(
      RedisCacheConfig config, RedisScript script, MeterRegistry registry) {
    RedisDecisionCache cache = new RedisDecisionCache(config, script, registry);
    cache.link.start();
    cache.link.every(HealthProbe.PAUSE, cache.probe::probe);
    return cache;
  }

  /**
   * Sets the consumer of the server's clock. It is called about once a second, whether or not
   * anything is decided, on a thread that must not be blocked. The time is already in the past when
   * it is passed.
   *
   * @param told receives microseconds since 1970
   */
  public void onServerTime(LongConsumer told) {
    probe.onServerTime(told);
  }

  RedisLink link() {
    return link;
  }

  Duration stallTimeout() {
    return config.stallTimeout();
  }

  ReplyWatch watch() {
    return flusher.watch();
  }

  ColdSignal coldSignal() {
    return coldSignal;
  }

  @Override
  public CompletableFuture<Decision> submit(Check check) {
    StatefulRedisConnection<byte[], byte[]> hearing = link.hearing();
    if (hearing != null && !closed && !flusher.watch().isSilent()) {
      Decision.StillDenied denied = denyCache.find(hearing, check);
      if (denied != null) {
        return CompletableFuture.completedFuture(denied);
      }
    }
    return submit(check, false);
  }

  @Override
  public CompletableFuture<Decision> submitPeek(Check check) {
    return submit(check, true);
  }

  private CompletableFuture<Decision> submit(Check check, boolean peek) {
    if (closed || link.current() == null) {
      return undecided(Failures.unavailable(link.reason()));
    }
    if (flusher.watch().isSilent()) {
      return undecided(Failures.silent(config.deadline()));
    }
    long now = NanoClock.now();
    WaitingCheck waiting =
        new WaitingCheck(
            check,
            encoder.encode(check, peek),
            now,
            now + config.patience().toNanos(),
            statistics::count);
    if (!flusher.offer(waiting)) {
      return undecided(new Decision.Undecided(Cause.REJECTED, "too many checks wait already"));
    }
    return waiting.decision();
  }

  private CompletableFuture<Decision> undecided(Decision.Undecided undecided) {
    statistics.count(undecided);
    return CompletableFuture.completedFuture(undecided);
  }

  /**
   * Returns the health known from the last probe, at most a second old. Sends nothing and does not
   * wait.
   */
  @Override
  public Health check() {
    if (closed || link.current() == null) {
      return new Health(false, link.reason());
    }
    if (flusher.watch().isSilent()) {
      return new Health(false, Failures.noAnswerWithin(config.deadline()));
    }
    String fault = statistics.faultsOf().recent();
    String failure = fault.isEmpty() ? probe.failure() : fault;
    return failure.isEmpty()
        ? new Health(true, evictionCheck().describe())
        : new Health(false, failure);
  }

  /** Returns the number of checks waiting to be sent. */
  int checksWaiting() {
    return flusher.checksWaiting();
  }

  /**
   * Returns why the server that was reached last is not used: its mode, its version, or possible
   * eviction. Empty if it is used, or if none was reached.
   */
  public String refusal() {
    return link.refusal();
  }

  /** Returns whether the server connected last may evict buckets. */
  public EvictionCheck evictionCheck() {
    return link.evictionCheck();
  }

  /** Returns the metrics of this cache. */
  CacheStatistics statistics() {
    return statistics;
  }

  /**
   * Closes the cache: waiting callers are answered {@link Cause#UNAVAILABLE}, and all threads end.
   */
  @Override
  public void close() {
    closed = true;
    flusher.close();
    link.close();
    flusher.failInFlight();
  }
}
