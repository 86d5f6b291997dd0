// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.micrometer.core.instrument.MeterRegistry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanLimits;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.net.URI;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Selects the requests to trace, begins their traces, and sends the spans to a collector over HTTP
 * (OTLP). If a request names its caller's span, Weir traces the request if the caller samples that
 * span. Weir selects other requests at random. A maximum rate applies to all traced requests. Weir
 * drops and counts spans that the collector does not accept in time. No request waits for the
 * collector, and no request fails because of the collector. Thread-safe.
 */
public final class Traces implements AutoCloseable {
  /**
   * Maximum number of traced calls that wait for Kafka's acknowledgement, equal to the calls of two
   * batches. Further calls get no span for the wait. Each waiting call keeps its line of a few
   * hundred bytes in memory.
   */
  static final int MAX_AWAITED = 2_000;

  /** Maximum time that a stop waits for the collector. */
  private static final Duration FLUSH_LIMIT = Duration.ofSeconds(3);

  private static final int MAX_ATTRIBUTES = 32;
  private static final int MAX_ATTRIBUTE_CHARACTERS = 256;

  private static final String SERVICE_NAME = "weir-ingest";

  /** The methods of RFC 9110 §9 and RFC 5789. Spans report any other method as {@code _OTHER}. */
  private static final Set<String> METHODS =
      Set.of("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE");

  /**
   * The logger of the OpenTelemetry library. Weir switches this logger off, because it would write
   * each failure to the console. {@link BoundedSpans} counts and logs failures instead. The field
   * keeps the logger and its level, because the JVM may discard a logger without references.
   */
  private static final Logger LIBRARY_LOG = Logger.getLogger("io.opentelemetry");

  private final @Nullable SdkTracerProvider provider;
  private final @Nullable Tracer tracer;
  private final double sampling;
  private final TraceRate rate;
  private final TraceStatistics statistics;
  private final AtomicInteger awaited = new AtomicInteger();
  private volatile boolean isOn;

  private Traces(
      @Nullable SdkTracerProvider provider, TraceSettings settings, TraceStatistics statistics) {
    this.provider = provider;
    this.tracer = provider == null ? null : provider.get("io.weir.ingest");
    this.sampling = settings.sampling();
    this.rate = new TraceRate(settings.maxRate(), System.nanoTime());
    this.statistics = statistics;
  }

  /**
   * Creates an instance that traces no request before {@link #begin()}. Does not wait for the
   * collector.
   *
   * @param node name of the node, which each span reports to the collector
   * @param registry receives the metrics, even if tracing is off
   */
  public static Traces create(TraceSettings settings, String node, MeterRegistry registry) {
    TraceStatistics statistics = new TraceStatistics(registry);
    URI endpoint = settings.endpoint();
    if (endpoint == null) {
      return new Traces(null, settings, statistics);
    }
    LIBRARY_LOG.setLevel(Level.OFF);
    SdkTracerProvider provider =
        SdkTracerProvider.builder()
            .setResource(Resource.getDefault().merge(Resource.create(about(node))))
            .setSampler(Sampler.alwaysOn()) // Weir creates spans only for selected requests
            .setSpanLimits(
                SpanLimits.builder()
                    .setMaxNumberOfAttributes(MAX_ATTRIBUTES)
                    .setMaxAttributeValueLength(MAX_ATTRIBUTE_CHARACTERS)
                    .build())
            .addSpanProcessor(new BoundedSpans(endpoint, settings, statistics))
            .build();
    return new Traces(provider, settings, statistics);
  }

  private static Attributes about(String node) {
    return Attributes.of(
        AttributeKey.stringKey("service.name"),
        SERVICE_NAME,
        AttributeKey.stringKey("service.instance.id"),
        node);
  }

  /** Returns whether requests may be traced, now or after {@link #begin()}. */
  public boolean isConfigured() {
    return tracer != null;
  }

  /** Begins to trace requests. Earlier requests are the node's own warm-up. */
  public void begin() {
    isOn = tracer != null;
  }

  /** Returns whether requests are traced. Very cheap. */
  public boolean isOn() {
    return isOn;
  }

  /**
   * Begins the trace of a request over HTTP.
   *
   * @param headers returns the values of all header fields with the given name, in order; this
   *     method passes the name in lower case
   * @param method the request's method, as sent
   * @param route the path of the route
   * @param isSecure whether the request arrived over TLS
   * @param arrivedNanos value of {@link System#nanoTime} when the header fields were complete
   * @return null if the request is not traced
   */
  public @Nullable RequestTrace beginHttp(
      Function<String, List<String>> headers,
      String method,
      String route,
      boolean isSecure,
      long arrivedNanos) {
    SpanBuilder span = sample(headers, arrivedNanos);
    return span == null
        ? null
        : start(
            span.setAttribute(SpanNames.METHOD, METHODS.contains(method) ? method : "_OTHER")
                .setAttribute(SpanNames.ROUTE, route)
                .setAttribute(SpanNames.SCHEME, isSecure ? "https" : "http"));
  }

  /**
   * Begins the trace of a request over gRPC.
   *
   * @param headers returns the values of the metadata with the given name, as for {@link
   *     #beginHttp}
   * @param method the full name of the method
   * @param arrivedNanos value of {@link System#nanoTime} when the metadata was read
   * @return null if the request is not traced
   */
  public @Nullable RequestTrace beginRpc(
      Function<String, List<String>> headers, String method, long arrivedNanos) {
    SpanBuilder span = sample(headers, arrivedNanos);
    return span == null
        ? null
        : start(
            span.setAttribute(SpanNames.RPC_SYSTEM, "grpc")
                .setAttribute(SpanNames.RPC_METHOD, method));
  }

  /** Returns the builder of the request's span; null if Weir does not trace the request. */
  private @Nullable SpanBuilder sample(Function<String, List<String>> headers, long arrivedNanos) {
    Tracer ofNode = tracer;
    if (ofNode == null || !isOn) {
      return null;
    }
    Context caller = CallerSpan.read(headers);
    boolean isWanted =
        CallerSpan.isIn(caller)
            ? CallerSpan.isSampled(caller)
            : ThreadLocalRandom.current().nextDouble() < sampling;
    if (!isWanted) {
      return null;
    }
    long nowNanos = System.nanoTime();
    if (!rate.tryTake(nowNanos)) {
      statistics.overRate.increment();
      return null;
    }
    statistics.traced.increment();
    Instant arrived = Clock.systemUTC().instant().minusNanos(Math.max(0, nowNanos - arrivedNanos));
    return ofNode
        .spanBuilder(SpanNames.CHECK)
        .setParent(caller)
        .setSpanKind(SpanKind.SERVER)
        .setStartTimestamp(arrived);
  }

  private RequestTrace start(SpanBuilder span) {
    Tracer ofNode = tracer;
    if (ofNode == null) {
      throw new IllegalStateException("tracing is off");
    }
    return new RequestTrace(ofNode, span.startSpan(), awaited, MAX_AWAITED);
  }

  /** Sends the spans in memory for at most 3 s, and drops the rest. Idempotent. */
  @Override
  public void close() {
    isOn = false;
    if (provider != null) {
      var unused = provider.shutdown().join(FLUSH_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    }
  }
}
