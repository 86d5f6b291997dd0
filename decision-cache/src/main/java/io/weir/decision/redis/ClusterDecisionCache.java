// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.redis.CheckEncoder.Purpose;
import io.weir.decision.redis.SplitCheck.Part;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A decision cache on the servers of a Redis Cluster. The cache uses each primary like a single
 * server ({@link RedisDecisionCache}): with one connection per primary, and many checks in one
 * script call. Thread-safe.
 *
 * <p>A client's own buckets are in one slot. Shared buckets may be in any slot. A check with
 * buckets on several servers first takes the cost from the shared buckets, on all servers of these
 * buckets concurrently. Then the check takes the cost from the client's own buckets, which are
 * recorded. If a server denies the check, the cache gives back the cost on the other servers, and
 * then returns the denial. Meanwhile another call may be denied, but no limit is exceeded.
 *
 * <p>Denied calls of a client must not take tokens from shared buckets. If a client was denied
 * recently, the cache therefore first peeks at the client's own buckets. If a server does not
 * reply, and no server denies the check, the check is undecided. The cache then gives back the cost
 * on the servers that replied. The server that did not reply may have charged the check.
 *
 * <p>If a slot of a check is being moved between servers, the check charges nothing. The cache
 * retries the check until the deadline.
 */
public final class ClusterDecisionCache implements RedisCache {

  private static final long FIRST_PAUSE_MILLIS = 2;
  private static final long MAX_PAUSE_MILLIS = 20;

  /** Time after a denial for which a client counts as recently denied. */
  private static final Duration LATELY = Duration.ofSeconds(10);

  private static final int MAX_REFUSED = 10_000;

  private final RedisCacheConfig config;
  private final CacheStatistics statistics;
  private final Semaphore turnedCold = new Semaphore(0);
  private final ClusterTopology topology;

  /** The recently denied clients; the key is the first of a client's own buckets in the check. */
  private final Cache<String, Boolean> refusedLately =
      Caffeine.newBuilder()
          .maximumSize(MAX_REFUSED)
          .expireAfterWrite(LATELY)
          .executor(Runnable::run)
          .build();

  private volatile @Nullable ObjLongConsumer<String> onServerTime;
  private volatile boolean closed;

  private ClusterDecisionCache(RedisCacheConfig config, MeterRegistry registry) {
    this.config = config;
    this.statistics = new CacheStatistics(registry);
    this.topology = new ClusterTopology(config, target -> connect(target, registry));
    statistics.bind(this, this::deniedBuckets);
  }

  private RedisDecisionCache connect(LinkTarget target, MeterRegistry registry) {
    RedisDecisionCache server =
        RedisDecisionCache.ofServer(
            config, target, statistics, new ColdSignal(turnedCold), registry);
    server.link().onLost(this::lostConnection);
    ObjLongConsumer<String> consumer = onServerTime;
    if (consumer != null) {
      server.onServerTime(consumer);
    }
    return server;
  }

  private void lostConnection() {
    topology.changed();
  }

  private long deniedBuckets() {
    return topology.routes().servers().values().stream()
        .mapToLong(RedisDecisionCache::deniedBuckets)
        .sum();
  }

  /** Starts a cache without a registry for its metrics. */
  static ClusterDecisionCache start(RedisCacheConfig config) {
    return start(config, new SimpleMeterRegistry());
  }

  /**
   * Starts a cache. Waits until the first attempt to connect has ended, even if it has failed.
   *
   * @param registry registry for the metrics of the cache
   * @throws IllegalArgumentException if the URI is not valid
   */
  static ClusterDecisionCache start(RedisCacheConfig config, MeterRegistry registry) {
    ClusterDecisionCache cache = new ClusterDecisionCache(config, registry);
    cache.topology.start();
    return cache;
  }

  ClusterTopology topology() {
    return topology;
  }

  CacheStatistics statistics() {
    return statistics;
  }

  /** Returns the semaphore that gets a permit when a server becomes cold. */
  Semaphore turnedCold() {
    return turnedCold;
  }

  @Override
  public CompletableFuture<Decision> submit(Check check) {
    return counted(decide(new Question(check, Purpose.TAKE)));
  }

  @Override
  public CompletableFuture<Decision> submitPeek(Check check) {
    return counted(decide(new Question(check, Purpose.PEEK)));
  }

  @Override
  public CompletableFuture<Decision> submitRelease(Check check) {
    return counted(decide(new Question(check, Purpose.GIVE_BACK)));
  }

  private CompletableFuture<Decision> counted(CompletableFuture<Decision> decision) {
    return decision.thenApply(
        decided -> {
          if (!(decided instanceof Decision.StillDenied)) {
            statistics.count(decided);
          }
          return decided;
        });
  }

  /**
   * A check and its attempts. The check is retried until the servers of its slots are found.
   *
   * @param askedNanos time of the first attempt, by {@link NanoClock}
   * @param tries number of attempts
   */
  private record Question(Check check, Purpose purpose, long askedNanos, int tries) {
    Question(Check check, Purpose purpose) {
      this(check, purpose, NanoClock.now(), 0);
    }

    Question again() {
      return new Question(check, purpose, askedNanos, tries + 1);
    }

    boolean isRepeated() {
      return tries > 0;
    }

    long pauseMillis() {
      return Math.min(FIRST_PAUSE_MILLIS << Math.min(tries, 10), MAX_PAUSE_MILLIS);
    }
  }

  private CompletableFuture<Decision> decide(Question question) {
    ClusterRoutes routes = topology.routes();
    if (closed || routes.servers().isEmpty()) {
      return done(Failures.unavailable(topology.reason()));
    }
    RedisDecisionCache first = null;
    boolean isParted = false;
    for (BucketRequest request : question.check().buckets()) {
      RedisDecisionCache holder = routes.holder(request.bucket());
      if (holder == null) {
        topology.changed();
        return done(Failures.unavailable("a slot of the check has no server in the cluster"));
      }
      isParted |= first != null && first != holder;
      first = holder;
    }
    CompletableFuture<Decision> decision =
        isParted || first == null
            ? decideParts(question, routes)
            : ask(first, question.check(), question.purpose(), question.isRepeated());
    return decision.thenCompose(
        decided -> Failures.isMoved(decided) ? later(question) : done(decided));
  }

  /** Retries a check after a pause. If the deadline has passed, ends the check as undecided. */
  private CompletableFuture<Decision> later(Question question) {
    topology.changed();
    if (NanoClock.now() - question.askedNanos() > config.deadline().toNanos()) {
      return done(Failures.MOVED);
    }
    Executor timer =
        CompletableFuture.delayedExecutor(question.pauseMillis(), TimeUnit.MILLISECONDS);
    return CompletableFuture.runAsync(() -> {}, timer)
        .thenCompose(paused -> decide(question.again()));
  }

  private static CompletableFuture<Decision> done(Decision decision) {
    return CompletableFuture.completedFuture(decision);
  }

  /**
   * Sends a check to one server.
   *
   * @param alone whether to send the check in a separate call. In a shared call, the slots of one
   *     check can make the other checks fail
   */
  private static CompletableFuture<Decision> ask(
      RedisDecisionCache server, Check check, Purpose purpose, boolean alone) {
    return alone || purpose != Purpose.TAKE
        ? server.submit(check, purpose, alone)
        : server.submit(check);
  }

  private CompletableFuture<Decision> decideParts(Question question, ClusterRoutes routes) {
    SplitCheck split =
        SplitCheck.of(question.check(), key -> Objects.requireNonNull(routes.holder(key)));
    boolean alone = question.isRepeated();
    if (question.purpose() != Purpose.TAKE) {
      return allOf(askAll(split.parts(), question.purpose(), alone)).thenApply(split::merge);
    }
    Part last = split.last();
    Decision.StillDenied known = last.server().knownDenial(last.check());
    if (known != null) {
      return done(split.ofLast(known));
    }
    if (refusedLately.getIfPresent(last.name()) == null) {
      return take(split, alone);
    }
    return ask(last.server(), last.check(), Purpose.PEEK, alone)
        .thenCompose(
            peeked ->
                peeked instanceof Decision.Denied
                    ? allOf(askAll(split.shared(), Purpose.PEEK, alone))
                        .thenApply(others -> split.merge(with(others, peeked)))
                    : take(split, alone));
  }

  /** Takes the cost from the shared buckets, and then from the client's own buckets. */
  private CompletableFuture<Decision> take(SplitCheck split, boolean alone) {
    Part last = split.last();
    return allOf(askAll(split.shared(), Purpose.TAKE, alone))
        .thenCompose(
            taken -> {
              if (taken.stream().anyMatch(Decision.Undecided.class::isInstance)) {
                return endUndecided(split, taken);
              }
              boolean allowed = taken.stream().allMatch(Decision.Allowed.class::isInstance);
              Purpose purpose = allowed ? Purpose.TAKE : Purpose.PEEK;
              return ask(last.server(), last.check(), purpose, alone)
                  .thenCompose(
                      decision -> {
                        note(last, decision);
                        return allowed && decision instanceof Decision.Allowed
                            ? done(split.merge(with(taken, decision)))
                            : giveBack(split.shared(), taken)
                                .thenApply(given -> split.merge(with(given, decision)));
                      });
            });
  }

  /**
   * Ends a check if a server has not decided its part of the check. If moved slots are the only
   * reason, the cache first gives back the cost and then retries the check. Otherwise the check
   * ends immediately, while the cost is being given back.
   */
  private CompletableFuture<Decision> endUndecided(SplitCheck split, List<Decision> taken) {
    Decision.Undecided nothing = Failures.MOVED;
    boolean isMoved =
        taken.stream().filter(Decision.Undecided.class::isInstance).allMatch(Failures::isMoved);
    CompletableFuture<List<Decision>> given = giveBack(split.shared(), taken);
    return isMoved
        ? given.thenApply(decisions -> split.merge(with(decisions, nothing)))
        : done(split.merge(with(taken, nothing)));
  }

  private void note(Part last, Decision decision) {
    if (decision instanceof Decision.Denied) {
      refusedLately.put(last.name(), true);
    } else if (decision instanceof Decision.Allowed) {
      refusedLately.invalidate(last.name());
    }
  }

  private static List<CompletableFuture<Decision>> askAll(
      List<Part> parts, Purpose purpose, boolean alone) {
    List<CompletableFuture<Decision>> asked = new ArrayList<>();
    for (Part part : parts) {
      asked.add(ask(part.server(), part.check(), purpose, alone));
    }
    return asked;
  }

  private static CompletableFuture<List<Decision>> allOf(List<CompletableFuture<Decision>> asked) {
    return CompletableFuture.allOf(asked.toArray(CompletableFuture<?>[]::new))
        .thenApply(none -> asked.stream().map(CompletableFuture::join).toList());
  }

  private static List<Decision> with(List<Decision> decisions, Decision last) {
    List<Decision> all = new ArrayList<>(decisions);
    all.add(last);
    return all;
  }

  /**
   * Gives back the cost to the buckets of the allowed parts. Returns the decisions on the parts
   * after the cost is given back.
   */
  private CompletableFuture<List<Decision>> giveBack(List<Part> parts, List<Decision> decisions) {
    List<CompletableFuture<Decision>> given = new ArrayList<>();
    for (int i = 0; i < parts.size(); i++) {
      given.add(
          decisions.get(i) instanceof Decision.Allowed allowed
              ? giveBack(parts.get(i), allowed)
              : done(decisions.get(i)));
    }
    return allOf(given);
  }

  private CompletableFuture<Decision> giveBack(Part part, Decision.Allowed allowed) {
    List<BucketRequest> charged = new ArrayList<>();
    for (int i = 0; i < allowed.buckets().size(); i++) {
      if (allowed.buckets().get(i).charged()) {
        charged.add(part.check().buckets().get(i));
      }
    }
    if (charged.isEmpty()) {
      return done(allowed);
    }
    Check check = part.check().of(charged);
    Purpose purpose =
        config.denyCacheAge().isZero() ? Purpose.GIVE_BACK : Purpose.GIVE_BACK_AND_PUBLISH;
    return decide(new Question(check, purpose))
        .thenCompose(
            given ->
                given instanceof Decision.Decided
                    ? ask(part.server(), part.check(), Purpose.PEEK, false)
                    : done(notGivenBack(given)));
  }

  /**
   * Returns a decision that prevents a retry of a check. Used if the check's cost could not be
   * given back.
   */
  private static Decision notGivenBack(Decision given) {
    return Failures.isMoved(given) ? Failures.unavailable(Failures.MOVED.detail()) : given;
  }

  @Override
  public void onServerTime(ObjLongConsumer<String> consumer) {
    onServerTime = consumer;
    topology.routes().servers().values().forEach(server -> server.onServerTime(consumer));
  }

  /**
   * Returns the health of all servers from their last probes, which are at most one second old.
   * Sends no request, and does not wait.
   */
  @Override
  public Health check() {
    ClusterRoutes routes = topology.routes();
    if (closed || routes.servers().isEmpty()) {
      return new Health(false, topology.reason());
    }
    if (!routes.map().isComplete()) {
      return new Health(false, "some slots of the cluster have no server");
    }
    StringJoiner failures = new StringJoiner("; ");
    routes
        .servers()
        .forEach(
            (server, cache) -> {
              Health health = cache.check();
              if (!health.ok()) {
                failures.add(server + ": " + health.detail());
              }
            });
    return failures.length() == 0
        ? new Health(true, evictionCheck().describe())
        : new Health(false, failures.toString());
  }

  @Override
  public String refusal() {
    if (topology.routes().servers().isEmpty()) {
      return topology.refusal();
    }
    for (RedisDecisionCache server : topology.routes().servers().values()) {
      if (!server.refusal().isEmpty()) {
        return server.refusal();
      }
    }
    return "";
  }

  /**
   * Returns the result of the check for one server. Prefers a server that may evict; otherwise
   * prefers a server that does not report its settings.
   */
  @Override
  public EvictionCheck evictionCheck() {
    EvictionCheck found = EvictionCheck.NOT_KNOWN;
    boolean isFirst = true;
    for (RedisDecisionCache server : topology.routes().servers().values()) {
      EvictionCheck check = server.evictionCheck();
      if (check.result() == EvictionCheck.Result.MAY_EVICT) {
        return check;
      }
      if (isFirst || check.result() == EvictionCheck.Result.UNKNOWN) {
        found = check;
      }
      isFirst = false;
    }
    return found;
  }

  @Override
  public CacheLife life() {
    return new ClusterCacheLife(this);
  }

  @Override
  public BucketCorrector startCorrector() {
    return new ClusterBucketCorrector(this);
  }

  @Override
  public void close() {
    closed = true;
    topology.close();
  }
}
