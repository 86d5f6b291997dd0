// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.weir.access.AccessSettings;
import io.weir.decision.redis.RedisAccess;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.ingest.authz.AuthzSettings;
import io.weir.ingest.correct.CorrectionSettings;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.http.AdminAccess;
import io.weir.ingest.http.HttpSettings;
import io.weir.ingest.http.LimitHeaders;
import io.weir.ingest.http.UnknownMembers;
import io.weir.ingest.record.RecordConfig.WhenFull;
import io.weir.ingest.rls.RateLimitSettings;
import io.weir.ingest.trace.TraceSettings;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.settings.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The settings of one ingest node, validated as a whole.
 *
 * @param node name of the node, unique among ingest nodes and unchanged by a restart
 * @param nodes number of ingest nodes that share the traffic. While Redis does not reply, this node
 *     enforces 1 / {@code nodes} of the limit of each policy with failure mode {@code local}
 * @param kafka the connection to Kafka
 * @param access the access rules and the TLS settings of the check API
 * @param redis the address, access and deadlines of the decision cache
 * @param httpHost the address that the check API binds
 * @param httpPort port of the check API; 0 for any free port
 * @param maxCallsUnderWay maximum number of calls in progress; the node answers further calls with
 *     503 immediately
 * @param adaptiveBound whether {@code maxCallsUnderWay} adapts to the latency of calls
 * @param queueDelayTarget target for the time that calls wait for a thread; above it, the node
 *     answers some calls with 503 immediately; zero disables this
 * @param maxConnections maximum number of open connections to the check API
 * @param keepAlive time after which the node closes an idle connection
 * @param maxUnreadBytes maximum number of response bytes that callers have not read; 0 for the
 *     default
 * @param unknownMembers the treatment of request bodies with unknown JSON members
 * @param readyWait maximum time that a start waits for the cache and for corrections
 * @param stopDelay time for which a stopping node reports that it is not ready and still serves
 *     calls
 * @param dataFolder folder of the journal; only this process may use it
 * @param policies the configured policy file, which must exist; null for none
 * @param events the file of rules that convert usage events; null for none
 * @param eventsMaxAge maximum age of a usage event
 * @param adminAccess the origins from which policies may be read and changed over HTTP
 * @param adminHosts host names, in lower case, of web pages that may read and change policies if
 *     {@code adminAccess} permits access from everywhere
 * @param durability how durable a call's record must be before the node answers the call
 * @param whenFull the treatment of calls when the journal is full
 * @param maxJournalBytes maximum number of bytes of calls that are not yet in Kafka
 * @param fsync whether an append waits until the disk has stored the lines
 * @param drainTimeout maximum time that a stop waits for Kafka
 * @param correctionsMaxRate maximum number of corrections per second that the node applies to the
 *     cache
 * @param settleHorizon how far back in time a settlement searches for its call if the call's id
 *     contains no time
 * @param singleCopy whether the calls topic may have fewer replicas than needed to survive the loss
 *     of a broker
 * @param limitHeaders the header fields that report limits to callers
 * @param authz how the node reads calls from a gateway's header fields
 * @param rateLimits the settings of Envoy's rate limit service
 * @param traces the destination and the rate of traces
 */
public record IngestConfig(
    String node,
    int nodes,
    KafkaConnection kafka,
    AccessSettings access,
    RedisCacheConfig redis,
    String httpHost,
    int httpPort,
    int maxCallsUnderWay,
    boolean adaptiveBound,
    Duration queueDelayTarget,
    int maxConnections,
    Duration keepAlive,
    long maxUnreadBytes,
    UnknownMembers unknownMembers,
    Duration readyWait,
    Duration stopDelay,
    Path dataFolder,
    @Nullable Path policies,
    @Nullable Path events,
    Duration eventsMaxAge,
    AdminAccess adminAccess,
    Set<String> adminHosts,
    Durability durability,
    WhenFull whenFull,
    long maxJournalBytes,
    boolean fsync,
    Duration drainTimeout,
    int correctionsMaxRate,
    Duration settleHorizon,
    SingleCopy singleCopy,
    LimitHeaders limitHeaders,
    AuthzSettings authz,
    RateLimitSettings rateLimits,
    TraceSettings traces) {

  public IngestConfig {
    adminHosts = Collections.unmodifiableSortedSet(new TreeSet<>(adminHosts));
  }

  /**
   * Nodes do not repeat denials by default, because a repeated denial has no stamp and so confirms
   * no correction. Operators can enable repeated denials.
   */
  private static final Duration DEFAULT_DENY_CACHE = Duration.ZERO;

  /**
   * Long enough for load balancers, which check every one or two seconds and remove a node after
   * two or three failures.
   */
  private static final Duration DEFAULT_STOP_DELAY = Duration.ofSeconds(5);

  /** While an aggregator is running, a restoration of the cache takes a fraction of this time. */
  private static final Duration DEFAULT_READY_WAIT = Duration.ofSeconds(10);

  private static final String KAFKA_MEANING = "Kafka's bootstrap servers, host:port";
  private static final String REDIS_MEANING = "Redis' URI, redis://host:port";

  /**
   * One day less than the maximum age that the aggregator accepts, so that Kafka may be unavailable
   * for a day.
   */
  private static final Duration MAX_EVENTS_AGE = Topics.LATENESS.minusDays(1);

  private static final Duration DEFAULT_SETTLE_HORIZON = Duration.ofHours(1);

  private static final long DEFAULT_JOURNAL_BYTES = 4L << 30;
  private static final long MIN_JOURNAL_BYTES = 1L << 20;
  private static final long MAX_JOURNAL_BYTES = 1L << 50;
  private static final int DEFAULT_HTTP_PORT = 8080;

  private static final Pattern HOST_NAME =
      Pattern.compile("[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*");

  private enum Switch {
    ON,
    OFF
  }

  /**
   * Reads the settings from an environment.
   *
   * @throws Settings.InvalidSettingException if a variable is invalid; the message names the
   *     variable
   */
  public static IngestConfig of(Map<String, String> environment) {
    Settings settings = Settings.of(environment);
    settings.requireAll(Map.of("WEIR_KAFKA", KAFKA_MEANING, "WEIR_REDIS", REDIS_MEANING));
    String node = settings.text("WEIR_NODE", settings.text("HOSTNAME", "ingest-1"));
    if (!BatchHeader.isNodeName(node)) {
      throw new Settings.InvalidSettingException(
          "WEIR_NODE must have 1 to 64 characters from A-Za-z0-9._-, but is '" + node + "'");
    }
    AccessSettings access = AccessSettings.of(settings);
    return new IngestConfig(
        node,
        (int) settings.integer("WEIR_NODES", 1, 1, LocalDecider.MAX_NODES),
        KafkaConnection.of(settings),
        access,
        redis(settings),
        access.host(settings, "WEIR_HTTP_HOST"),
        settings.port("WEIR_HTTP_PORT", DEFAULT_HTTP_PORT),
        (int)
            settings.integer(
                "WEIR_MAX_CALLS_UNDER_WAY",
                HttpSettings.DEFAULT_CALLS_UNDER_WAY,
                1,
                HttpSettings.MAX_CALLS_UNDER_WAY),
        settings.choice("WEIR_ADAPTIVE_BOUND", Switch.OFF) == Switch.ON,
        settings.duration(
            "WEIR_QUEUE_DELAY_TARGET",
            HttpSettings.DEFAULT_QUEUE_DELAY_TARGET,
            Duration.ZERO,
            HttpSettings.MAX_QUEUE_DELAY_TARGET),
        (int)
            settings.integer(
                "WEIR_MAX_CONNECTIONS",
                HttpSettings.DEFAULT_CONNECTIONS,
                1,
                HttpSettings.MAX_CONNECTIONS),
        settings.duration(
            "WEIR_KEEP_ALIVE",
            HttpSettings.DEFAULT_KEEP_ALIVE,
            HttpSettings.MIN_KEEP_ALIVE,
            HttpSettings.MAX_KEEP_ALIVE),
        settings.integer("WEIR_UNREAD_MAX_BYTES", 0, 0, HttpSettings.MAX_UNREAD_BYTES),
        settings.choice("WEIR_UNKNOWN_MEMBERS", UnknownMembers.REFUSE),
        settings.duration(
            "WEIR_READY_WAIT", DEFAULT_READY_WAIT, Duration.ZERO, Duration.ofMinutes(10)),
        settings.duration(
            "WEIR_STOP_DELAY", DEFAULT_STOP_DELAY, Duration.ZERO, Duration.ofMinutes(10)),
        Path.of(settings.text("WEIR_DATA", ".weir")).resolve("ingest"),
        namedFile(settings, "WEIR_POLICIES"),
        readableFile(settings, "WEIR_EVENTS_FILE"),
        settings.duration(
            "WEIR_EVENTS_MAX_AGE", MAX_EVENTS_AGE, Duration.ofMinutes(1), MAX_EVENTS_AGE),
        settings.choice("WEIR_ADMIN", AdminAccess.LOOPBACK),
        adminHosts(settings),
        settings.choice("WEIR_DURABILITY", Durability.JOURNALED),
        settings.choice("WEIR_WHEN_FULL", WhenFull.REJECT),
        settings.integer(
            "WEIR_JOURNAL_MAX_BYTES", DEFAULT_JOURNAL_BYTES, MIN_JOURNAL_BYTES, MAX_JOURNAL_BYTES),
        settings.choice("WEIR_JOURNAL_FSYNC", Switch.OFF) == Switch.ON,
        settings.duration(
            "WEIR_DRAIN_TIMEOUT", Duration.ofSeconds(20), Duration.ZERO, Duration.ofHours(1)),
        (int)
            settings.integer(
                "WEIR_CORRECTIONS_MAX_RATE",
                CorrectionSettings.DEFAULT_RATE,
                1,
                CorrectionSettings.MAX_RATE),
        settings.duration(
            "WEIR_SETTLE_HORIZON", DEFAULT_SETTLE_HORIZON, Duration.ofMinutes(1), Topics.LATENESS),
        settings.choice(SingleCopy.VARIABLE, SingleCopy.REFUSE),
        LimitHeaders.of(settings),
        AuthzSettings.of(settings, access),
        RateLimitSettings.of(settings, access),
        TraceSettings.of(settings));
  }

  private static Set<String> adminHosts(Settings settings) {
    Set<String> hosts = new TreeSet<>();
    for (String host : settings.text("WEIR_ADMIN_HOSTS", "").split(",", -1)) {
      String name = host.strip().toLowerCase(Locale.ROOT);
      if (!name.isEmpty() && !HOST_NAME.matcher(name).matches()) {
        throw new Settings.InvalidSettingException(
            "WEIR_ADMIN_HOSTS must contain host names without ports, separated by commas, but "
                + "contains '"
                + host.strip()
                + "'");
      }
      if (!name.isEmpty()) {
        hosts.add(name);
      }
    }
    return hosts;
  }

  /**
   * Reads only the settings of the decision cache.
   *
   * @throws Settings.InvalidSettingException if a variable is invalid; the message names it
   */
  public static RedisCacheConfig redis(Map<String, String> environment) {
    return redis(Settings.of(environment));
  }

  private static RedisCacheConfig redis(Settings settings) {
    String uri = settings.required("WEIR_REDIS", REDIS_MEANING);
    RedisCacheConfig config;
    try {
      config = RedisCacheConfig.of(uri).withAccess(redisAccess(settings));
    } catch (IllegalArgumentException refused) {
      throw new Settings.InvalidSettingException("WEIR_REDIS " + refused.getMessage());
    }
    return config
        .withDeadline(
            settings.duration(
                "WEIR_DECISION_DEADLINE",
                Duration.ofMillis(250),
                Duration.ofMillis(1),
                Duration.ofSeconds(10)))
        .withDenyCacheAge(
            settings.duration(
                "WEIR_DENY_CACHE", DEFAULT_DENY_CACHE, Duration.ZERO, Duration.ofMinutes(1)))
        .withOnEviction(settings.choice("WEIR_REDIS_EVICTION", RedisCacheConfig.OnEviction.REFUSE));
  }

  private static RedisAccess redisAccess(Settings settings) {
    Path certificate = readableFile(settings, "WEIR_REDIS_TLS_CERTIFICATE");
    Path key = readableFile(settings, "WEIR_REDIS_TLS_KEY");
    if ((certificate == null) != (key == null)) {
      throw new Settings.InvalidSettingException(
          (certificate == null ? "WEIR_REDIS_TLS_CERTIFICATE" : "WEIR_REDIS_TLS_KEY")
              + " is not set; set both the certificate and its key");
    }
    return new RedisAccess(
        readableFile(settings, "WEIR_REDIS_TLS_CA"),
        certificate,
        key,
        settings.text("WEIR_REDIS_SENTINEL_USER", ""),
        settings.text("WEIR_REDIS_SENTINEL_PASSWORD", ""));
  }

  private static @Nullable Path namedFile(Settings settings, String variable) {
    String name = settings.text(variable, "");
    return name.isEmpty() ? null : Path.of(name);
  }

  private static @Nullable Path readableFile(Settings settings, String variable) {
    Path file = namedFile(settings, variable);
    if (file != null && !Files.isReadable(file)) {
      throw new Settings.InvalidSettingException(
          variable + " names a file that cannot be read: " + file);
    }
    return file;
  }

  /** Returns the settings in one line, without secrets. */
  @Override
  public String toString() {
    return "node="
        + node
        + " nodes="
        + nodes
        + " kafka="
        + kafka
        + " redis=["
        + redis
        + "]"
        + " tokens="
        + access.hasTokens()
        + " tls="
        + access.tls()
        + " http="
        + httpHost
        + ":"
        + httpPort
        + " max_calls_under_way="
        + maxCallsUnderWay
        + " adaptive_bound="
        + adaptiveBound
        + " queue_delay_target="
        + queueDelayTarget
        + " max_connections="
        + maxConnections
        + " keep_alive="
        + keepAlive
        + " unread_max_bytes="
        + maxUnreadBytes
        + " unknown_members="
        + unknownMembers
        + " ready_wait="
        + readyWait
        + " stop_delay="
        + stopDelay
        + " data="
        + dataFolder
        + " policies="
        + (policies == null ? "none" : policies)
        + " events="
        + events
        + " events_max_age="
        + eventsMaxAge
        + " admin="
        + adminAccess
        + " admin_hosts="
        + String.join(",", adminHosts)
        + " durability="
        + durability.wireName()
        + " when_full="
        + whenFull
        + " journal_max_bytes="
        + maxJournalBytes
        + " fsync="
        + fsync
        + " drain_timeout="
        + drainTimeout
        + " corrections_max_rate="
        + correctionsMaxRate
        + " settle_horizon="
        + settleHorizon
        + " single_copy="
        + singleCopy
        + " limit_headers="
        + limitHeaders
        + " authz=["
        + authz
        + "] grpc=["
        + rateLimits
        + "] traces=["
        + traces
        + "]";
  }
}
