// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.metrics.MicrometerCommandLatencyRecorder;
import io.lettuce.core.metrics.MicrometerOptions;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.deny.DenyCache;
import io.weir.decision.redis.CheckEncoder.Purpose;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A decision cache on a Redis server. Callers add their checks to a bounded queue. The thread that
 * reads the connection sends all waiting checks in one script call. When the reply arrives, this
 * thread completes the decisions. Several script calls can be in flight. Thread-safe.
 *
 * <p>If the server does not reply to a script call within the deadline, the checks of the call are
 * undecided with {@link Cause#TIMEOUT}. The server may have charged these checks. Until the server
 * replies again, the cache sends no checks, and completes waiting and new checks immediately as
 * undecided. Time in which this process could not read the reply does not count ({@link
 * ReplyWatch}). Without a connection, checks are immediately undecided with {@link
 * Cause#UNAVAILABLE}. The cache connects in the background, and can start before the server runs.
 *
 * <p>If {@code denyCacheAge} is not zero, the cache keeps denials ({@link DenyCache}). While a
 * denial is valid, the cache denies calls without a request to the server ({@link
 * Decision.StillDenied}).
 *
 * <p>If this process could not send a check or read the reply within the caller's timeout, the
 * check is undecided with {@link Cause#REJECTED}. Callers must not admit a call with this cause:
 * the server may work normally.
 */
public final class RedisDecisionCache implements RedisCache {
  private final RedisCacheConfig config;
  private final LinkTarget target;
  private final CacheStatistics statistics;
  private final Consumer<Decision> count;
  private final CheckEncoder encoder = new CheckEncoder();
  private final ColdSignal coldSignal;
  private final DenyCache denyCache;
  private final RedisLink link;
  private final Flusher flusher;
  private final HealthProbe probe;
  private volatile boolean closed;

  private RedisDecisionCache(
      RedisCacheConfig config,
      LinkTarget target,
      RedisScript script,
      CacheStatistics statistics,
      ColdSignal coldSignal,
      Consumer<Decision> count,
      MeterRegistry registry) {
    this.config = config;
    this.coldSignal = coldSignal;
    this.target = target;
    this.statistics = statistics;
    this.count = count;
    this.denyCache = new DenyCache(config.denyCacheAge(), NanoClock::now);
    this.link =
        new RedisLink(
            config,
            target,
            script,
            statistics.connections::increment,
            denyCache.isOn() ? this::raised : null,
            statistics.faultsOf(),
            new MicrometerCommandLatencyRecorder(registry, MicrometerOptions.create()));
    link.server().onEvicted(statistics.evictions::increment);
    this.flusher = new Flusher(config, script, link, statistics, coldSignal, denyCache);
    this.probe = new HealthProbe(link, flusher.watch());
  }

  private void raised(byte[] bucket) {
    denyCache.drop(new String(bucket, StandardCharsets.UTF_8));
  }

  /**
   * Starts a cache without a registry for its metrics; see {@link #start(RedisCacheConfig,
   * MeterRegistry)}.
   */
  public static RedisDecisionCache start(RedisCacheConfig config) {
    return start(config, new SimpleMeterRegistry());
  }

  /**
   * Starts a cache. Waits until the first attempt to connect has ended, even if it has failed.
   * {@link #check} and {@link #evictionCheck} report the result.
   *
   * @param registry registry for the metrics of the cache
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
    CacheStatistics statistics = new CacheStatistics(registry);
    RedisDecisionCache cache =
        new RedisDecisionCache(
            config,
            LinkTarget.of(config),
            script,
            statistics,
            new ColdSignal(),
            statistics::count,
            registry);
    statistics.bind(cache, cache::deniedBuckets);
    cache.begin();
    return cache;
  }

  /**
   * Creates the part of a cluster's cache for one server, without starting the part.
   *
   * @param statistics the statistics of the whole cache; this part does not count decisions,
   *     because the whole cache counts them
   * @param coldSignal signal that this server has become cold
   */
  static RedisDecisionCache ofServer(
      RedisCacheConfig config,
      LinkTarget target,
      CacheStatistics statistics,
      ColdSignal coldSignal,
      MeterRegistry registry) {
    return new RedisDecisionCache(
        config,
        target,
        RedisScript.takeTokens(target.kind()),
        statistics,
        coldSignal,
        decision -> {},
        registry);
  }

  /** Begins to connect, and waits until the first attempt has ended. */
  void begin() {
    link.start();
    link.every(HealthProbe.PAUSE, probe::probe);
  }

  /** Begins to connect, without waiting. */
  void beginSoon() {
    link.startSoon();
    link.every(HealthProbe.PAUSE, probe::probe);
  }

  /**
   * Sets the consumer of the server's time. The cache calls the consumer about once per second,
   * even without decisions. The consumer must not block. The time is slightly old, because the
   * server read its clock before the cache called the consumer.
   *
   * @param consumer consumer of the server's name and its time in microseconds since 1970
   */
  @Override
  public void onServerTime(ObjLongConsumer<String> consumer) {
    probe.onServerTime(micros -> consumer.accept(target.shown(), micros));
    link.onServerTime(micros -> consumer.accept(target.shown(), micros));
  }

  @Override
  public CacheLife life() {
    return RedisCacheLife.of(this);
  }

  @Override
  public BucketCorrector startCorrector() {
    return RedisBucketCorrector.start(config, target);
  }

  LinkTarget target() {
    return target;
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
    Decision.StillDenied denied = knownDenial(check);
    return denied == null
        ? submit(check, Purpose.TAKE, false)
        : CompletableFuture.completedFuture(denied);
  }

  /** Returns the denial of a check from the cached denials; null if there is no such denial. */
  Decision.@Nullable StillDenied knownDenial(Check check) {
    StatefulRedisConnection<byte[], byte[]> subscribed = link.subscribed();
    return subscribed != null && !closed && !flusher.watch().isSilent()
        ? denyCache.find(subscribed, check)
        : null;
  }

  @Override
  public CompletableFuture<Decision> submitPeek(Check check) {
    return submit(check, Purpose.PEEK, false);
  }

  @Override
  public CompletableFuture<Decision> submitRelease(Check check) {
    return submit(check, Purpose.GIVE_BACK, false);
  }

  /**
   * Submits a check to the server, even if there is a cached denial of the check.
   *
   * @param alone whether to send the check in a separate call
   */
  CompletableFuture<Decision> submit(Check check, Purpose purpose, boolean alone) {
    if (closed && target.kind() == ServerKind.OF_CLUSTER) {
      return undecided(Failures.MOVED);
    }
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
            encoder.encode(check, purpose),
            alone,
            now,
            now + config.callerTimeout().toNanos(),
            count);
    if (!flusher.offer(waiting)) {
      return undecided(new Decision.Undecided(Cause.REJECTED, "the queue of checks is full"));
    }
    return waiting.decision();
  }

  private CompletableFuture<Decision> undecided(Decision.Undecided undecided) {
    count.accept(undecided);
    return CompletableFuture.completedFuture(undecided);
  }

  /**
   * Returns the health from the last probe, which is at most one second old. Sends no request, and
   * does not wait.
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

  /** Returns the number of checks that wait to be sent. */
  int checksWaiting() {
    return flusher.checksWaiting();
  }

  /** Returns the number of buckets with a cached denial. */
  long deniedBuckets() {
    return denyCache.bucketCount();
  }

  @Override
  public String refusal() {
    return link.server().refusal();
  }

  @Override
  public EvictionCheck evictionCheck() {
    return link.server().evictionCheck();
  }

  /** Returns the metrics of this cache. */
  CacheStatistics statistics() {
    return statistics;
  }

  /**
   * Closes the cache. Waiting checks become undecided with {@link Cause#UNAVAILABLE}, and all
   * threads end.
   */
  @Override
  public void close() {
    closed = true;
    flusher.close();
    link.close();
    flusher.failInFlight();
  }
}
