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
    link.onEvicted(statistics.evictions::increment);
    this.flusher = new Flusher(config, script, link, statistics, coldSignal, denyCache);
    this.probe = new HealthProbe(link, flusher.watch());
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
   * Creates the part of a cluster's cache that asks one of its servers, and that is not begun.
   *
   * @param statistics those of the whole cache; the decisions are not counted in them
   * @param coldSignal tells when this server turns cold
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

  /** Connects, and waits for the first attempt. */
  void begin() {
    link.start();
    link.every(HealthProbe.PAUSE, probe::probe);
  }

  /** Connects, and does not wait. */
  void beginSoon() {
    link.startSoon();
    link.every(HealthProbe.PAUSE, probe::probe);
  }

  /**
   * Sets the consumer of the server's clock. It is called about once a second, whether or not
   * anything is decided, on a thread that must not be blocked. The time is already in the past when
   * it is passed.
   *
   * @param told receives the server and microseconds since 1970
   */
  @Override
  public void onServerTime(ObjLongConsumer<String> told) {
    probe.onServerTime(micros -> told.accept(target.shown(), micros));
    link.onServerTime(micros -> told.accept(target.shown(), micros));
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

  /** Returns the denial of a check if it is known without asking the server, otherwise null. */
  Decision.@Nullable StillDenied knownDenial(Check check) {
    StatefulRedisConnection<byte[], byte[]> hearing = link.hearing();
    return hearing != null && !closed && !flusher.watch().isSilent()
        ? denyCache.find(hearing, check)
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
   * Submits a check, and asks the server for it even if its denial is known.
   *
   * @param alone whether it is to be sent in a call of its own
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
            now + config.patience().toNanos(),
            count);
    if (!flusher.offer(waiting)) {
      return undecided(new Decision.Undecided(Cause.REJECTED, "too many checks wait already"));
    }
    return waiting.decision();
  }

  private CompletableFuture<Decision> undecided(Decision.Undecided undecided) {
    count.accept(undecided);
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

  /** Returns the number of buckets whose calls are denied without asking. */
  long deniedBuckets() {
    return denyCache.bucketCount();
  }

  @Override
  public String refusal() {
    return link.refusal();
  }

  @Override
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
