// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.jetty.JettyConnectionMetrics;
import io.micrometer.core.instrument.binder.jetty.JettyServerThreadPoolMetrics;
import io.weir.access.WatchedFile;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.function.ToDoubleFunction;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.jspecify.annotations.Nullable;

/** Metrics of the check API's server: refused requests, and load. Thread-safe. */
public final class HttpStatistics {
  /**
   * The reason why a request was shed. A shed request is answered with 503 before any processing.
   */
  enum Shed {
    /** The bound on calls in progress was reached. */
    CALLS_UNDER_WAY,
    /** Calls waited too long for a thread. */
    QUEUE_DELAY,
    /** The bound on the bytes of incomplete bodies was reached. */
    BODIES,
    /** The bound on batches of checks in progress was reached. */
    BATCHES,
    /** The bound on scrapes in progress was reached. */
    SCRAPES
  }

  /** The part of a request or response that was not received in time. */
  enum Part {
    /** The request line or the header fields. */
    HEADERS,
    /** The body. */
    BODY,
    /** The response, because the caller did not read it. */
    ANSWER
  }

  /** The result of the check of a caller's token in a forward-auth request. */
  enum CallerToken {
    /** The token is in the cache of verified tokens. */
    REMEMBERED,
    /** The token was verified. */
    VERIFIED,
    /** The token is invalid. */
    REFUSED,
    /** The maximum number of tokens that wait for verification was reached. */
    BUSY,
    /** The token's key is unknown, and the issuer's keys could not be fetched. */
    KEYS_AWAY
  }

  private static final double NANOS_PER_SECOND = 1e9;

  private final MeterRegistry registry;
  private final Map<Shed, Counter> shed;
  private final Map<Part, Counter> timedOut;
  private final Map<CallerToken, Counter> callerTokens;
  private final Timer requests;
  private volatile boolean timing;
  private volatile @Nullable Admission admission;
  private volatile IntSupplier connections = () -> 0;
  private volatile IncompleteBodies bodies = new IncompleteBodies();

  /** Creates the metrics of one server. */
  public HttpStatistics(MeterRegistry registry) {
    this.registry = registry;
    this.shed =
        counters(
            Shed.class,
            "weir.calls.shed",
            "reason",
            "calls answered 503 because of overload, before any processing");
    this.timedOut =
        counters(
            Part.class,
            "weir.requests.timed.out",
            "part",
            "requests that did not arrive in time, and large answers that were not read in time");
    this.callerTokens =
        counters(
            CallerToken.class,
            "weir.caller.tokens",
            "result",
            "tokens of callers in forward-auth requests, by the result of the check");
    requests =
        Timer.builder("weir.request")
            .description("seconds from a request's header to the end of its answer")
            .register(registry);
    gauge(
        "weir.files.refused",
        "files of tokens, keys and certificates that cannot be read or are invalid",
        statistics -> WatchedFile.countRefused());
    gauge(
        "weir.calls.under.way",
        "calls admitted and not yet answered",
        HttpStatistics::callsUnderWay);
    gauge(
        "weir.calls.under.way.max",
        "calls that may be in progress at the same time",
        statistics -> statistics.admitted(Admission::maxCallsUnderWay));
    gauge(
        "weir.calls.queue.delay.seconds",
        "shortest wait of a call for a thread in the last 0.1 seconds, in seconds",
        statistics -> statistics.admitted(Admission::queueDelayNanos) / NANOS_PER_SECOND);
    gauge(
        "weir.calls.shed.share",
        "share of calls that are shed because of queue delay, 0 to 1",
        HttpStatistics::shedShare);
    gauge(
        "weir.http.connections", "connections open to the check API", HttpStatistics::connections);
    gauge(
        "weir.http.incomplete.bodies",
        "requests whose body is incomplete",
        statistics -> statistics.bodies.count());
    gauge(
        "weir.http.incomplete.body.bytes",
        "bytes buffered of incomplete bodies",
        statistics -> statistics.bodies.bytes());
  }

  /** Registers a counter for each constant, with the constant's name as the value of the tag. */
  private <E extends Enum<E>> Map<E, Counter> counters(
      Class<E> type, String name, String tag, String description) {
    Map<E, Counter> counters = new EnumMap<>(type);
    for (E each : type.getEnumConstants()) {
      counters.put(
          each,
          Counter.builder(name)
              .description(description)
              .tag(tag, each.name().toLowerCase(Locale.ROOT).replace('_', '-'))
              .register(registry));
    }
    return counters;
  }

  private void gauge(String name, String description, ToDoubleFunction<HttpStatistics> value) {
    Gauge.builder(name, this, value).description(description).register(registry);
  }

  /**
   * Begins to measure the durations of requests. Earlier requests are not measured, because they
   * only warm up the server.
   */
  public void beginTiming() {
    timing = true;
  }

  void answered(long nanos) {
    if (timing) {
      requests.record(nanos, TimeUnit.NANOSECONDS);
    }
  }

  Counter shed(Shed reason) {
    return Objects.requireNonNull(shed.get(reason));
  }

  /** Returns the counter of requests that ended because the given part was not received in time. */
  Counter timedOut(Part part) {
    return Objects.requireNonNull(timedOut.get(part));
  }

  /** Returns the counter of callers' tokens with the given result. */
  Counter callerTokens(CallerToken result) {
    return Objects.requireNonNull(callerTokens.get(result));
  }

  void watch(Admission newAdmission, IncompleteBodies newBodies) {
    admission = newAdmission;
    bodies = newBodies;
  }

  /** Registers the metrics of the server's threads. */
  void watch(Server server) {
    new JettyServerThreadPoolMetrics(server.getThreadPool(), List.of()).bindTo(registry);
  }

  /**
   * Registers the metrics of a connector's connections.
   *
   * @param count returns the number of open connections
   */
  void watch(ServerConnector connector, IntSupplier count) {
    connector.addBean(new JettyConnectionMetrics(registry, connector));
    connections = count;
  }

  private double admitted(ToDoubleFunction<Admission> figure) {
    Admission now = admission;
    return now == null ? 0 : figure.applyAsDouble(now);
  }

  /** Returns the number of calls admitted and not yet answered. */
  double callsUnderWay() {
    return admitted(Admission::underWay);
  }

  /** Returns the share of calls that are currently shed, 0 to 1. */
  double shedShare() {
    return admitted(Admission::share);
  }

  /** Returns the number of open connections. */
  int connections() {
    return connections.getAsInt();
  }
}
