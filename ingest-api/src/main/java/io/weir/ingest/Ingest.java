// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.access.Access;
import io.weir.access.Tls;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.redis.RedisCache;
import io.weir.ingest.correct.CorrectionSettings;
import io.weir.ingest.correct.Corrections;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.gate.Slots;
import io.weir.ingest.http.CheckApi;
import io.weir.ingest.http.HttpSettings;
import io.weir.ingest.http.HttpStatistics;
import io.weir.ingest.policy.log.PolicyFollower;
import io.weir.ingest.record.DecisionClock;
import io.weir.ingest.record.KafkaCallLog;
import io.weir.ingest.record.RecordConfig;
import io.weir.ingest.rls.RateLimitServer;
import io.weir.ingest.rls.RateLimitSettings;
import io.weir.ingest.rls.RateLimitWarmUp;
import io.weir.ingest.settle.CallFinder;
import io.weir.ingest.settle.KafkaCallFinder;
import io.weir.ingest.settle.Settler;
import io.weir.ingest.settle.VerdictFollower;
import io.weir.ingest.trace.Traces;
import io.weir.limits.ZoneData;
import io.weir.topics.process.ResourceStack;
import java.io.UncheckedIOException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One ingest node. The node consists of the check API, the client of the decision cache, the
 * components that keep the cache correct, and the call log. This class starts and stops these parts
 * in order. A node also starts without Redis; until Redis is available, each policy's failure mode
 * decides the policy's calls. A node that has a journal also starts without Kafka.
 */
public final class Ingest implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Ingest.class);

  /** The first Java version with virtual threads as a final feature (JEP 444). */
  private static final int VIRTUAL_THREADS_SINCE = 21;

  private static final boolean HAS_VIRTUAL_THREADS =
      Runtime.version().feature() >= VIRTUAL_THREADS_SINCE;

  private static final long MICROS_PER_MILLI = 1_000;

  /**
   * Time for which a stopping node refuses new calls with {@code Connection: close}. A caller with
   * an active connection sends its next call within this time. From the response the caller learns
   * that the connection is about to close.
   */
  private static final Duration STOP_NOTICE = Duration.ofMillis(500);

  /** Maximum time that a start waits until the node's policy file is published. */
  private static final Duration POLICY_FILE_TIMEOUT = Duration.ofSeconds(10);

  private final CheckApi api;
  private final @Nullable RateLimitServer grpc;
  private final StartUp startUp;
  private final Duration stopDelay;
  private final ResourceStack resources;

  private Ingest(
      CheckApi api,
      @Nullable RateLimitServer grpc,
      StartUp startUp,
      Duration stopDelay,
      ResourceStack resources) {
    this.api = api;
    this.grpc = grpc;
    this.startUp = startUp;
    this.stopDelay = stopDelay;
    this.resources = resources;
  }

  /**
   * Starts a node. The node answers calls when this method returns, and becomes ready shortly
   * afterwards.
   *
   * @throws IngestStartException if the node cannot start with its policies, journal, Kafka, Redis
   *     or ports
   */
  public static Ingest start(IngestConfig config) {
    return start(config, CopyCheck.TIMEOUT);
  }

  /**
   * Starts a node.
   *
   * @param copyTimeout maximum wait for Kafka's reply about the replicas of the calls topic
   */
  static Ingest start(IngestConfig config, Duration copyTimeout) {
    LOG.info("ingest starts {}", config);
    ZoneData.warning(ZoneData.version(), Instant.now()).ifPresent(LOG::warn);
    ConfiguredFiles files = ConfiguredFiles.read(config);
    ResourceStack resources = new ResourceStack();
    IngestMetrics metrics = resources.push(new IngestMetrics());
    // close the traces after the call log, because the log's last acknowledgements end spans
    Traces traces =
        resources.push(Traces.create(config.traces(), config.node(), metrics.registry()));
    RedisCache cache = resources.push(RedisCache.start(config.redis(), metrics.registry()));
    try {
      return start(config, files, copyTimeout, metrics, traces, cache, resources);
    } catch (RuntimeException failed) {
      resources.closeAll(failed::addSuppressed);
      // If Weir must not use this Redis server, report this reason before any other failure.
      refuseServer(cache);
      throw failed instanceof PolicyFollower.NoPoliciesException none
          ? new IngestStartException(String.valueOf(none.getMessage()), none)
          : BoundPort.ofCheckApi(config).explain(failed);
    }
  }

  private static Ingest start(
      IngestConfig config,
      ConfiguredFiles files,
      Duration copyTimeout,
      IngestMetrics metrics,
      Traces traces,
      RedisCache cache,
      ResourceStack resources) {
    MeterRegistry registry = metrics.registry();
    Access access = resources.push(Access.open(config.access()));
    Tls tls = config.access().tls() == null ? null : Tls.open(config.access().tls());
    if (tls != null) {
      resources.push(tls);
    }
    refuseServer(cache);
    DecisionClock clock = DecisionClock.ofSystem();
    cache.onServerTime((server, micros) -> clock.observe(server, micros / MICROS_PER_MILLI));
    WarmUp.ofCache(cache, clock);
    CopyCheck copies = CopyCheck.begin(config, copyTimeout);
    RecordConfig recording = recordConfig(config);
    KafkaCallLog log =
        resources.push(KafkaCallLog.open(recording, clock, copies::objection, registry));
    copies.require();
    refuseServer(cache); // a slow connection to Redis is established by now
    LocalDecider local = new LocalDecider(config.nodes(), () -> epochMicros(clock));
    PolicyFollower policies =
        resources.push(
            PolicyFollower.start(
                config.kafka(),
                config.node(),
                config.dataFolder(),
                files.policies(),
                clock::nowEpochMillis,
                registry));
    LeaseTimer leases = resources.push(new LeaseTimer(cache, log, registry));
    CheckGate gate =
        new CheckGate(
            () -> policies.inForce().matcher(),
            metrics.timed(cache),
            local,
            metrics.timed(log),
            new UuidV7(Clock.systemUTC())::next,
            leases.leases(),
            registry);
    Slots slots = gate.slots();
    cache.onServerTime(
        (server, micros) -> {
          clock.observe(server, micros / MICROS_PER_MILLI);
          slots.cacheAnswers(micros);
        });
    CallFinder finder = resources.push(finder(config, log, clock));
    VerdictFollower verdicts = resources.push(verdicts(config, log, registry));
    Settler settler = new Settler(finder, log, verdicts, registry);
    resources.push(slots::drain);
    HttpStatistics statistics = new HttpStatistics(registry);
    metrics.bindClock(clock);
    metrics.bindBounds(recording.maxHeldBytes(), config.redis().deadline());
    // these three apply corrections until the journal is closed; the last one closes first
    BucketCorrector corrector = resources.pushBelow(log, cache.startCorrector());
    CacheLife life = resources.pushBelow(log, cache.life());
    Corrections corrections =
        resources.pushBelow(
            log,
            Corrections.of(
                new CorrectionSettings(config.node(), config.kafka(), config.correctionsMaxRate()),
                corrector,
                life,
                policies::set,
                clock::nowEpochMillis,
                registry));
    StartUp startUp = new StartUp(corrections::missingAtStart, config.readyWait());
    CheckApi api =
        resources.push(
            CheckApi.start(
                new CheckApi.Parts(
                    gate,
                    settler,
                    cache,
                    log,
                    corrections::check,
                    startUp::isComplete,
                    metrics::scrape,
                    new CheckApi.PolicyAdmin(
                        policies,
                        config.adminAccess(),
                        config.adminHosts(),
                        config.access().hasTokens()),
                    files.events(),
                    access,
                    tls,
                    traces),
                httpSettings(config),
                statistics));
    if (!config.readyWait().isZero()) {
      WarmUp.ofCheckApi(config.httpHost(), api.port(), tls != null, access.ownToken());
    }
    RateLimitServer grpc = grpc(config, api, access, tls, traces, registry);
    if (grpc != null) {
      resources.push(grpc);
      RateLimitWarmUp.run(config.rateLimits().host(), grpc.port(), tls != null, access.ownToken());
      grpc.beginCounting();
    }
    statistics.beginTiming();
    traces.begin();
    policies.settleFile(POLICY_FILE_TIMEOUT);
    // Started last, because a start that fails must not take over the consumer group membership
    // of a running node with the same name.
    corrections.start();
    LOG.info(
        "ingest started node={} http_port={} grpc_port={}",
        config.node(),
        api.port(),
        grpc == null ? "none" : grpc.port());
    return new Ingest(api, grpc, startUp, config.stopDelay(), resources);
  }

  private static HttpSettings httpSettings(IngestConfig config) {
    return new HttpSettings(
        config.httpHost(),
        config.httpPort(),
        HAS_VIRTUAL_THREADS,
        config.maxCallsUnderWay(),
        config.adaptiveBound(),
        config.queueDelayTarget(),
        config.maxConnections(),
        config.keepAlive(),
        config.maxUnreadBytes(),
        config.unknownMembers(),
        config.limitHeaders(),
        config.authz(),
        config.rateLimits());
  }

  /** Starts the gRPC server if its port is configured. */
  private static @Nullable RateLimitServer grpc(
      IngestConfig config,
      CheckApi api,
      Access access,
      @Nullable Tls tls,
      Traces traces,
      MeterRegistry registry) {
    RateLimitSettings settings = config.rateLimits();
    Integer port = settings.port();
    if (port == null) {
      return null;
    }
    try {
      return RateLimitServer.start(
          settings.host(),
          port,
          new RateLimitServer.Parts(
              api.rateLimits(),
              access,
              tls,
              api::isReady,
              config.maxCallsUnderWay(),
              RateLimitServer.shareOf(config.maxConnections()),
              traces,
              registry));
    } catch (UncheckedIOException notBound) {
      throw new BoundPort(
              "gRPC", settings.host(), RateLimitSettings.HOST, port, RateLimitSettings.PORT)
          .explain(notBound);
    }
  }

  private static CallFinder finder(IngestConfig config, KafkaCallLog log, DecisionClock clock) {
    return new KafkaCallFinder(
        config.kafka(),
        config.node(),
        log.statistics().partitions(),
        config.settleHorizon(),
        settlements(config),
        clock::nowEpochMillis);
  }

  private static VerdictFollower verdicts(
      IngestConfig config, KafkaCallLog log, MeterRegistry registry) {
    return VerdictFollower.start(
        config.kafka(),
        config.node(),
        log.statistics().partitions(),
        settlements(config),
        registry);
  }

  /**
   * Returns the maximum number of concurrent settlements. The number is a quarter of the maximum
   * number of concurrent calls. Settlements get fewer threads than checks, because each settlement
   * occupies a thread while it searches and waits.
   */
  private static int settlements(IngestConfig config) {
    int calls =
        HAS_VIRTUAL_THREADS
            ? config.maxCallsUnderWay()
            : Math.min(config.maxCallsUnderWay(), HttpSettings.MAX_CALLS_ON_PLATFORM_THREADS);
    return Math.max(1, calls / 4);
  }

  /**
   * Checks the node's policy file and event rules file, without contacting a server. {@link #start}
   * performs the same check.
   *
   * @throws IngestStartException if a file cannot be read, or contains an invalid policy or rule
   */
  public static void check(IngestConfig config) {
    ConfiguredFiles.read(config);
  }

  private static void refuseServer(RedisCache cache) {
    String refusal = cache.refusal();
    if (!refusal.isEmpty()) {
      boolean mayEvict = cache.evictionCheck().describe().equals(refusal);
      throw new IngestStartException(
          "Redis (WEIR_REDIS): "
              + refusal
              + (mayEvict ? "; or set WEIR_REDIS_EVICTION=warn to use it anyway" : ""));
    }
  }

  private static long epochMicros(DecisionClock clock) {
    return Math.max(1, clock.nowEpochMillis()) * MICROS_PER_MILLI;
  }

  private static RecordConfig recordConfig(IngestConfig config) {
    return RecordConfig.builder(
            config.node(), config.kafka(), config.dataFolder().resolve("journal"))
        .durability(config.durability())
        .fsync(config.fsync())
        .maxJournalBytes(config.maxJournalBytes())
        .whenFull(config.whenFull())
        .drainTimeout(config.drainTimeout())
        .build();
  }

  /**
   * Sleeps for the given time.
   *
   * @return false if an interrupt ended the sleep
   */
  private static boolean pause(Duration length) {
    try {
      TimeUnit.MILLISECONDS.sleep(length.toMillis());
      return true;
    } catch (InterruptedException interrupted) {
      return false;
    }
  }

  /**
   * Waits until the node is ready: the cache is restored and the corrections have been read, or
   * {@code WEIR_READY_WAIT} has passed.
   */
  public void awaitReady() throws InterruptedException {
    startUp.await();
  }

  /** Returns the port of the check API. */
  public int httpPort() {
    return api.port();
  }

  /** Returns the gRPC port; empty if the node has no gRPC server. */
  public OptionalInt grpcPort() {
    return grpc == null ? OptionalInt.empty() : OptionalInt.of(grpc.port());
  }

  /**
   * Stops the node in these steps:
   *
   * <ol>
   *   <li>The node reports that it is not ready and keeps serving for the stop delay, so that load
   *       balancers stop sending calls.
   *   <li>For half a second the node refuses new calls and closes their connections. So no call is
   *       in flight when the node closes the remaining connections.
   *   <li>The node answers the calls in progress, drains the journal to Kafka, and sends its final
   *       heartbeat. After that heartbeat no window waits for the node. The node applies
   *       corrections until the journal is closed. Then the node sends the pending spans for at
   *       most a few seconds.
   * </ol>
   *
   * <p>An interrupt ends the waits, but the node still performs every step.
   */
  @Override
  public void close() {
    close(STOP_NOTICE);
  }

  /** Stops the node as {@link #close()} does, but refuses new calls for the given time. */
  void close(Duration notice) {
    LOG.info("ingest stops");
    api.beginStop();
    if (grpc != null) {
      grpc.beginStop();
    }
    boolean waited = pause(stopDelay);
    api.refuseNewCalls();
    if (grpc != null) {
      grpc.refuseNewCalls();
    }
    // If a connection closes while a call is in flight, the caller cannot know the result. A caller
    // that received Connection: close sends no further call on the connection.
    waited &= pause(notice);
    try {
      resources.close();
      LOG.info("ingest stopped");
    } finally {
      if (!waited) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
