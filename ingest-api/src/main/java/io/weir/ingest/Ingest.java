// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.access.Access;
import io.weir.access.Tls;
import io.weir.decision.redis.RedisCache;
import io.weir.ingest.event.EventRules;
import io.weir.ingest.event.EventRulesFile;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.gate.Slots;
import io.weir.ingest.http.CheckApi;
import io.weir.ingest.http.HttpSettings;
import io.weir.ingest.http.HttpStatistics;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.log.AppliedFile;
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
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.ZoneData;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.SocketException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One ingest node. It consists of the check API, the client of the decision cache, the components
 * that keep the cache correct, and the call log. This class starts and stops them in order. A node
 * also starts without Redis; until Redis is available, each policy's failure mode decides. A node
 * that has a journal also starts without Kafka.
 */
public final class Ingest implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Ingest.class);

  /** The first Java version with virtual threads as a final feature (JEP 444). */
  private static final int VIRTUAL_THREADS_SINCE = 21;

  private static final boolean HAS_VIRTUAL_THREADS =
      Runtime.version().feature() >= VIRTUAL_THREADS_SINCE;

  /** Number of consecutive decisions after which the warm-up ends. */
  private static final int WARM_UP_ANSWERS = 200;

  /**
   * Number of consecutive requests without a reply after which the node treats the cache as
   * unreachable.
   */
  private static final int WARM_UP_TRIES = 3;

  private static final long MICROS_PER_MILLI = 1_000;

  /**
   * Time for which a stopping node refuses new calls with {@code Connection: close}. A caller with
   * an active connection sends its next call within this time. So it learns that the connection is
   * about to close.
   */
  private static final Duration STOP_NOTICE = Duration.ofMillis(500);

  /** Maximum time that a start waits until the node's policy file is published. */
  private static final Duration POLICY_FILE_TIMEOUT = Duration.ofSeconds(10);

  private static final Duration WARM_UP_LIMIT = Duration.ofSeconds(2);

  private final IngestMetrics metrics;
  private final RedisCache cache;
  private final Slots slots;
  private final KafkaCallLog log;
  private final PolicyFollower policies;
  private final LeaseTimer leases;
  private final CallFinder finder;
  private final VerdictFollower verdicts;
  private final CacheHealing healing;
  private final CheckApi api;
  private final @Nullable RateLimitServer grpc;
  private final Traces traces;
  private final StartUp startUp;
  private final Duration stopDelay;

  private Ingest(
      IngestMetrics metrics,
      RedisCache cache,
      Slots slots,
      KafkaCallLog log,
      PolicyFollower policies,
      LeaseTimer leases,
      CallFinder finder,
      VerdictFollower verdicts,
      CacheHealing healing,
      CheckApi api,
      @Nullable RateLimitServer grpc,
      Traces traces,
      StartUp startUp,
      Duration stopDelay) {
    this.metrics = metrics;
    this.cache = cache;
    this.slots = slots;
    this.log = log;
    this.policies = policies;
    this.leases = leases;
    this.finder = finder;
    this.verdicts = verdicts;
    this.healing = healing;
    this.api = api;
    this.grpc = grpc;
    this.traces = traces;
    this.startUp = startUp;
    this.stopDelay = stopDelay;
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
    AppliedFile file = policyFile(config);
    EventRules events = eventRules(config);
    IngestMetrics metrics = new IngestMetrics();
    MeterRegistry registry = metrics.registry();
    Traces traces = Traces.create(config.traces(), config.node(), registry);
    RedisCache cache = RedisCache.start(config.redis(), registry);
    KafkaCallLog log = null;
    CacheHealing healing = null;
    VerdictFollower verdicts = null;
    LeaseTimer leases = null;
    PolicyFollower policies = null;
    Access access = null;
    Tls tls = null;
    RateLimitServer grpc = null;
    try {
      access = Access.open(config.access());
      tls = config.access().tls() == null ? null : Tls.open(config.access().tls());
      refuseServer(cache);
      DecisionClock clock = DecisionClock.ofSystem();
      cache.onServerTime((server, micros) -> clock.observe(server, micros / MICROS_PER_MILLI));
      warmUp(cache, clock);
      CopyCheck copies = CopyCheck.begin(config, copyTimeout);
      log = KafkaCallLog.open(recordConfig(config), clock, copies::objection, registry);
      copies.require();
      refuseServer(cache); // a slow connection to Redis is established by now
      LocalDecider local = new LocalDecider(config.nodes(), () -> epochMicros(clock));
      policies =
          PolicyFollower.start(
              config.kafka(),
              config.node(),
              config.dataFolder(),
              file,
              clock::nowEpochMillis,
              registry);
      leases = new LeaseTimer(cache, log, registry);
      CheckGate gate =
          new CheckGate(
              policies::matcher,
              new TimedDecisionCache(cache, registry),
              local,
              new TimedCallLog(log, registry),
              new UuidV7(Clock.systemUTC())::next,
              leases.leases(),
              registry);
      Slots slots = gate.slots();
      cache.onServerTime(
          (server, micros) -> {
            clock.observe(server, micros / MICROS_PER_MILLI);
            slots.cacheAnswers(micros);
          });
      CallFinder finder = finder(config, log, clock);
      verdicts = verdicts(config, log, registry);
      Settler settler = new Settler(finder, log, verdicts, registry);
      HttpStatistics statistics = new HttpStatistics(registry);
      metrics.bindClock(clock);
      metrics.bindBounds(recordConfig(config).maxHeldBytes(), config.redis().deadline());
      healing = CacheHealing.of(config, cache, policies::set, clock::nowEpochMillis, registry);
      StartUp startUp = new StartUp(healing::missingAtStart, config.readyWait());
      HttpSettings http =
          new HttpSettings(
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
      CheckApi api =
          CheckApi.start(
              new CheckApi.Parts(
                  gate,
                  settler,
                  cache,
                  log,
                  healing::check,
                  startUp::isComplete,
                  metrics::scrape,
                  new CheckApi.PolicyAdmin(
                      policies,
                      config.adminAccess(),
                      config.adminHosts(),
                      config.access().hasTokens()),
                  events,
                  access,
                  tls,
                  traces),
              http,
              statistics);
      if (!config.readyWait().isZero()) {
        RouteWarmUp.run(config.httpHost(), api.port(), tls != null, access.ownToken());
      }
      grpc = grpc(config, api, access, tls, traces, registry);
      statistics.beginTiming();
      traces.begin();
      policies.settleFile(POLICY_FILE_TIMEOUT);
      // Started last, because a start that fails must not take over the consumer group membership
      // of a running node with the same name.
      healing.start();
      LOG.info(
          "ingest started node={} http_port={} grpc_port={}",
          config.node(),
          api.port(),
          grpc == null ? "none" : grpc.port());
      return new Ingest(
          metrics,
          cache,
          slots,
          log,
          policies,
          leases,
          finder,
          verdicts,
          healing,
          api,
          grpc,
          traces,
          startUp,
          config.stopDelay());
    } catch (RuntimeException failed) {
      if (grpc != null) {
        grpc.close();
      }
      if (policies != null) {
        policies.close();
      }
      if (leases != null) {
        leases.close();
      }
      if (log != null) {
        log.close();
      }
      if (healing != null) {
        healing.close();
      }
      if (verdicts != null) {
        verdicts.close();
      }
      cache.close();
      traces.close();
      metrics.close();
      if (access != null) {
        access.close();
      }
      if (tls != null) {
        tls.close();
      }
      // If Weir must not use this Redis server, report that before any other failure.
      refuseServer(cache);
      throw explained(config, failed);
    }
  }

  /**
   * Starts the gRPC server if its port is configured. If the port cannot be bound, stops the check
   * API.
   */
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
      RateLimitServer server =
          RateLimitServer.start(
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
      RateLimitWarmUp.run(settings.host(), server.port(), tls != null, access.ownToken());
      server.beginCounting();
      return server;
    } catch (UncheckedIOException notBound) {
      api.close();
      IngestStartException refused =
          notBound(
              notBound,
              new BoundPort(
                  "gRPC", settings.host(), RateLimitSettings.HOST, port, RateLimitSettings.PORT));
      throw refused == null ? notBound : refused;
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
   * Returns the maximum number of concurrent settlements. It is a quarter of the maximum number of
   * concurrent calls, because a settlement occupies a thread while it searches and waits.
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
    policyFile(config);
    eventRules(config);
  }

  private static EventRules eventRules(IngestConfig config) {
    Path file = config.events();
    if (file == null) {
      return EventRules.none();
    }
    String named = "event rules file " + file.toAbsolutePath() + " (WEIR_EVENTS_FILE) ";
    EventRulesFile.Content content;
    try {
      content = EventRulesFile.parse(Files.readString(file), config.eventsMaxAge());
    } catch (IOException unreadable) {
      throw new IngestStartException(named + PolicyFile.reason(unreadable), unreadable);
    }
    if (content instanceof EventRulesFile.Content.Invalid invalid) {
      throw new IngestStartException(
          named + "is invalid:\n  " + String.join("\n  ", invalid.problems()));
    }
    return ((EventRulesFile.Content.Valid) content).rules();
  }

  /** Returns the configured policy file; null if none is configured. */
  private static @Nullable AppliedFile policyFile(IngestConfig config) {
    Path file = config.policies();
    if (file == null) {
      return null;
    }
    String named = "policy file " + file.toAbsolutePath() + " (WEIR_POLICIES) ";
    if (!Files.isRegularFile(file)) {
      throw new IngestStartException(
          named + (Files.exists(file) ? "is not a file" : "does not exist"));
    }
    PolicyFile.Content content;
    try {
      content = PolicyFile.read(file);
    } catch (IOException unreadable) {
      throw new IngestStartException(named + PolicyFile.reason(unreadable), unreadable);
    }
    if (content instanceof PolicyFile.Content.Invalid invalid) {
      throw new IngestStartException(
          "policy file "
              + file
              + " (WEIR_POLICIES) is invalid:\n  "
              + String.join("\n  ", invalid.problems()));
    }
    return AppliedFile.of(
        String.valueOf(file.getFileName()), ((PolicyFile.Content.Valid) content).tree());
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

  /**
   * Sends peeks to the cache until the cache has decided {@value #WARM_UP_ANSWERS} of them in a
   * row. The node does this before it opens its port. Otherwise the first callers would wait tens
   * of milliseconds while the JVM loads code. Peeks write nothing. The replies also set the
   * decision clock, so that the first low watermark follows the cache's clock. If the cache is
   * unreachable, the warm-up ends, and each policy's failure mode decides.
   */
  private static void warmUp(RedisCache cache, DecisionClock clock) {
    Check check =
        new Check(
            List.of(
                new BucketRequest(
                    BucketKey.of("warm-up", "warm-up").text(),
                    new TokenBucketLimit(1, 1, 1),
                    true)),
            1);
    long end = System.nanoTime() + WARM_UP_LIMIT.toNanos();
    int inTime = 0;
    int unanswered = 0;
    while (inTime < WARM_UP_ANSWERS && unanswered < WARM_UP_TRIES && System.nanoTime() < end) {
      Decision answer = cache.peek(check);
      if (answer instanceof Decision.Decided decided) {
        clock.observe(decided.decidedAtEpochMicros() / MICROS_PER_MILLI);
        inTime++;
        unanswered = 0;
      } else {
        inTime = 0;
        boolean wasAsked =
            answer instanceof Decision.Undecided none && none.cause() != Decision.Cause.REJECTED;
        unanswered += wasAsked ? 1 : 0;
      }
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

  private static RuntimeException explained(IngestConfig config, RuntimeException failed) {
    if (failed instanceof PolicyFollower.NoPoliciesException none) {
      return new IngestStartException(String.valueOf(none.getMessage()), none);
    }
    IngestStartException notBound =
        notBound(
            failed,
            new BoundPort(
                "the check API",
                config.httpHost(),
                "WEIR_HTTP_HOST",
                config.httpPort(),
                "WEIR_HTTP_PORT"));
    return notBound == null ? failed : notBound;
  }

  /** A port to bind, with its purpose and the environment variables that configure it. */
  private record BoundPort(
      String owner, String host, String hostVariable, int port, String portVariable) {}

  /**
   * Returns an exception that explains why the port could not be bound, or null if the failure has
   * another cause.
   */
  private static @Nullable IngestStartException notBound(RuntimeException failed, BoundPort asked) {
    if (failed instanceof IngestStartException) {
      return null;
    }
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof UnresolvedAddressException) {
        return new IngestStartException(
            "cannot resolve host " + asked.host + " (" + asked.hostVariable + ")", failed);
      }
      String said = String.valueOf(cause.getMessage());
      if (cause instanceof SocketException && said.contains("Permission denied")) {
        return new IngestStartException(
            "this user is not permitted to bind port "
                + asked.port
                + " for "
                + asked.owner
                + "; set "
                + asked.portVariable
                + " to a port above 1023",
            failed);
      }
      if (cause instanceof BindException && said.contains("assign requested address")) {
        return new IngestStartException(
            "this machine has no address " + asked.host + " (" + asked.hostVariable + ")", failed);
      }
      if (cause instanceof BindException) {
        return new IngestStartException(
            "port "
                + asked.port
                + " for "
                + asked.owner
                + " is in use; set "
                + asked.portVariable
                + " to another port, or to 0 for any free port",
            failed);
      }
    }
    return null;
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

  /** Returns the gRPC port; empty if there is none. */
  public OptionalInt grpcPort() {
    return grpc == null ? OptionalInt.empty() : OptionalInt.of(grpc.port());
  }

  /**
   * Stops the node in order:
   *
   * <ol>
   *   <li>The node reports that it is not ready and keeps serving for the stop delay, so that load
   *       balancers stop sending calls.
   *   <li>For half a second the node refuses new calls and closes their connections. So no call is
   *       in flight when the node closes the remaining connections.
   *   <li>The node answers the calls in progress, drains the journal to Kafka, and sends its final
   *       heartbeat. After that heartbeat no window waits for the node. The node applies
   *       corrections until the journal is closed. Then it sends the pending spans for at most a
   *       few seconds.
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
    // If a connection closes while a call is in flight, the caller cannot know the result. A
    // caller that received Connection: close sends no further call on it.
    waited &= pause(notice);
    try {
      if (grpc != null) {
        grpc.close();
      }
      api.close();
      slots.drain();
      policies.close();
      leases.close();
      finder.close();
      verdicts.close();
      log.close();
      healing.close();
      cache.close();
      traces.close(); // after the log, because its last acknowledgements end spans
      metrics.close();
      LOG.info("ingest stopped");
    } finally {
      if (!waited) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
