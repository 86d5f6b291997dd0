// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.redis.CheckEncoder.Purpose;
import io.weir.decision.redis.PartedCheck.Part;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A decision cache in the servers of a Redis Cluster. Each primary is asked as a single server is
 * ({@link RedisDecisionCache}): over a connection of its own, for many checks in one call of the
 * script. Thread-safe.
 *
 * <p>A client's buckets lie in one slot. Those that clients share lie anywhere: a check of buckets
 * on several servers takes the shared ones first, on all of their servers at the same time, and
 * then the client's, of which the records tell. If one of them refuses, what the others have given
 * is given back before the refusal is answered; until then they hold less, so a call at that moment
 * may be refused for it, and none is admitted too many. So that one who is refused again and again
 * does not take away from others what they share, the buckets of a client that was refused lately
 * are looked at before. If a server does not answer, and none refuses, the check is undecided; what
 * it took elsewhere is given back, and what it took there is not known.
 *
 * <p>A check that meets a slot on its way from one server to another has charged nothing, and is
 * asked again until the deadline.
 */
public final class ClusterDecisionCache implements RedisCache {

  private static final long FIRST_PAUSE_MILLIS = 2;
  private static final long MAX_PAUSE_MILLIS = 20;

  /** How long a client counts as refused lately, and how many are remembered. */
  private static final Duration LATELY = Duration.ofSeconds(10);

  private static final int MAX_REFUSED = 10_000;

  private final RedisCacheConfig config;
  private final CacheStatistics statistics;
  private final Semaphore turnedCold = new Semaphore(0);
  private final ClusterTopology topology;

  /** First bucket of each client that was refused lately by a bucket of its own. */
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
    ObjLongConsumer<String> told = onServerTime;
    if (told != null) {
      server.onServerTime(told);
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

  /** Starts a cache whose metrics nobody reads. */
  static ClusterDecisionCache start(RedisCacheConfig config) {
    return start(config, new SimpleMeterRegistry());
  }

  /**
   * Starts a cache. Waits for the first attempt to connect, not for its success.
   *
   * @param registry receives the metrics of the cache
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

  RedisCacheConfig config() {
    return config;
  }

  CacheStatistics statistics() {
    return statistics;
  }

  /** Returns what has a permit once a server has turned cold. */
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
   * A check that is asked until its slots have been found.
   *
   * @param askedNanos when it was asked first, by {@link NanoClock}
   * @param tries how often it was asked
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
        return done(Failures.unavailable("no server of the cluster holds the slot of a bucket"));
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

  /** Asks again after a pause, unless the deadline has passed. */
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
   * Asks one server.
   *
   * @param alone whether to send the check in a call of its own, so that no other check fails for
   *     its slots, nor it for theirs
   */
  private static CompletableFuture<Decision> ask(
      RedisDecisionCache server, Check check, Purpose purpose, boolean alone) {
    return alone || purpose != Purpose.TAKE
        ? server.submit(check, purpose, alone)
        : server.submit(check);
  }

  private CompletableFuture<Decision> decideParts(Question question, ClusterRoutes routes) {
    PartedCheck parted = PartedCheck.of(question.check(), routes::held);
    boolean alone = question.isRepeated();
    if (question.purpose() != Purpose.TAKE) {
      return allOf(askAll(parted.parts(), question.purpose(), alone)).thenApply(parted::merge);
    }
    Part last = parted.last();
    Decision.StillDenied known = last.server().knownDenial(last.check());
    if (known != null) {
      return done(parted.ofLast(known));
    }
    if (refusedLately.getIfPresent(last.name()) == null) {
      return take(parted, alone);
    }
    return ask(last.server(), last.check(), Purpose.PEEK, alone)
        .thenCompose(
            peeked ->
                peeked instanceof Decision.Denied
                    ? allOf(askAll(parted.shared(), Purpose.PEEK, alone))
                        .thenApply(others -> parted.merge(with(others, peeked)))
                    : take(parted, alone));
  }

  /** Takes from the shared buckets, and then from the client's. */
  private CompletableFuture<Decision> take(PartedCheck parted, boolean alone) {
    Part last = parted.last();
    return allOf(askAll(parted.shared(), Purpose.TAKE, alone))
        .thenCompose(
            taken -> {
              if (taken.stream().anyMatch(Decision.Undecided.class::isInstance)) {
                return withoutAnAnswer(parted, taken);
              }
              boolean allowed = taken.stream().allMatch(Decision.Allowed.class::isInstance);
              Purpose purpose = allowed ? Purpose.TAKE : Purpose.PEEK;
              return ask(last.server(), last.check(), purpose, alone)
                  .thenCompose(
                      decision -> {
                        note(last, decision);
                        return allowed && decision instanceof Decision.Allowed
                            ? done(parted.merge(with(taken, decision)))
                            : giveBack(parted.shared(), taken)
                                .thenApply(given -> parted.merge(with(given, decision)));
                      });
            });
  }

  /**
   * Ends a check of which a server has not decided its part. If nothing but slots that have moved
   * is the reason, what was taken is given back first, and the check is asked again; otherwise
   * nobody waits for that.
   */
  private CompletableFuture<Decision> withoutAnAnswer(PartedCheck parted, List<Decision> taken) {
    Decision.Undecided nothing = Failures.MOVED;
    boolean isMoved =
        taken.stream().filter(Decision.Undecided.class::isInstance).allMatch(Failures::isMoved);
    CompletableFuture<List<Decision>> given = giveBack(parted.shared(), taken);
    return isMoved
        ? given.thenApply(decisions -> parted.merge(with(decisions, nothing)))
        : done(parted.merge(with(taken, nothing)));
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

  /** Gives back what the parts that allowed have taken; returns all decisions as they are then. */
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
        config.denyCacheAge().isZero() ? Purpose.GIVE_BACK : Purpose.GIVE_BACK_AND_TELL;
    return decide(new Question(check, purpose))
        .thenCompose(
            given ->
                given instanceof Decision.Decided
                    ? ask(part.server(), part.check(), Purpose.PEEK, false)
                    : done(notGivenBack(given)));
  }

  /** What was taken and not given back must not be asked for again. */
  private static Decision notGivenBack(Decision given) {
    return Failures.isMoved(given) ? Failures.unavailable(Failures.MOVED.detail()) : given;
  }

  @Override
  public void onServerTime(ObjLongConsumer<String> told) {
    onServerTime = told;
    topology.routes().servers().values().forEach(server -> server.onServerTime(told));
  }

  /**
   * Returns the health of all servers, known from their last probes, at most a second old. Sends
   * nothing and does not wait.
   */
  @Override
  public Health check() {
    ClusterRoutes routes = topology.routes();
    if (closed || routes.servers().isEmpty()) {
      return new Health(false, topology.reason());
    }
    if (!routes.map().isComplete()) {
      return new Health(false, "some slots of the cluster are held by no server");
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

  /** Returns that of a server that may evict; else of one that does not tell; else of any. */
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
