// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.opentelemetry.api.metrics.MeterProvider;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporterBuilder;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.common.export.RetryPolicy;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.net.URI;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends ended spans to the collector in batches, and bounds the number of spans in memory. If the
 * maximum number of spans is in memory, the processor drops and counts further spans. A span stays
 * in memory until the collector has accepted or refused it. The processor also logs the beginning
 * and the end of an outage of the collector. Thread-safe; never blocks.
 */
final class BoundedSpans implements SpanProcessor {
  /** Maximum number of spans held in memory, about 1 KB each. */
  static final int MAX_HELD_SPANS = 2_048;

  private static final int SPANS_OF_A_REQUEST = 512;
  private static final Duration LINGER = Duration.ofSeconds(1);
  private static final Duration SEND_LIMIT = Duration.ofSeconds(5);
  private static final Duration CONNECT_LIMIT = Duration.ofSeconds(2);

  private static final Logger LOG = LoggerFactory.getLogger(BoundedSpans.class);

  private final URI endpoint;
  private final TraceStatistics statistics;
  private final SpanProcessor batches;
  private final AtomicInteger held = new AtomicInteger();
  private final AtomicBoolean isAway = new AtomicBoolean();

  /**
   * Creates a processor. Does not wait for the collector.
   *
   * @param endpoint the collector's address
   * @param settings contains the header fields of requests to the collector
   */
  BoundedSpans(URI endpoint, TraceSettings settings, TraceStatistics statistics) {
    this.endpoint = endpoint;
    this.statistics = statistics;
    this.batches =
        BatchSpanProcessor.builder(new CountedExporter(exporter(endpoint, settings)))
            .setMaxQueueSize(2 * MAX_HELD_SPANS) // never full, because fewer spans are in memory
            .setMaxExportBatchSize(SPANS_OF_A_REQUEST)
            .setScheduleDelay(LINGER)
            .setExporterTimeout(SEND_LIMIT.multipliedBy(2))
            .setMeterProvider(MeterProvider.noop())
            .build();
  }

  private static OtlpHttpSpanExporter exporter(URI endpoint, TraceSettings settings) {
    OtlpHttpSpanExporterBuilder builder =
        OtlpHttpSpanExporter.builder()
            .setEndpoint(endpoint.toString())
            .setTimeout(SEND_LIMIT)
            .setConnectTimeout(CONNECT_LIMIT)
            .setRetryPolicy(RetryPolicy.builder().setMaxAttempts(2).build())
            .setMeterProvider(MeterProvider.noop());
    settings.headers().forEach(builder::addHeader);
    return builder.build();
  }

  @Override
  public void onStart(Context parent, ReadWriteSpan span) {}

  @Override
  public boolean isStartRequired() {
    return false;
  }

  @Override
  public void onEnd(ReadableSpan span) {
    if (held.incrementAndGet() > MAX_HELD_SPANS) {
      held.decrementAndGet();
      statistics.dropped.increment();
      return;
    }
    batches.onEnd(span);
  }

  @Override
  public boolean isEndRequired() {
    return true;
  }

  @Override
  public CompletableResultCode shutdown() {
    return batches.shutdown();
  }

  @Override
  public CompletableResultCode forceFlush() {
    return batches.forceFlush();
  }

  /** A span exporter that counts sent and failed spans, which then leave memory. */
  private final class CountedExporter implements SpanExporter {
    private final SpanExporter exporter;

    CountedExporter(SpanExporter exporter) {
      this.exporter = exporter;
    }

    @Override
    public CompletableResultCode export(Collection<SpanData> spans) {
      int count = spans.size(); // the owner empties the collection later
      CompletableResultCode result;
      try {
        result = exporter.export(spans);
      } catch (RuntimeException fault) {
        result = CompletableResultCode.ofExceptionalFailure(fault);
      }
      CompletableResultCode sending = result;
      return sending.whenComplete(() -> end(sending, count));
    }

    private void end(CompletableResultCode result, int count) {
      held.addAndGet(-count);
      if (result.isSuccess()) {
        statistics.sent.increment(count);
        if (isAway.compareAndSet(true, false)) {
          LOG.info("traces_sent_again endpoint={}", endpoint);
        }
        return;
      }
      statistics.failed.increment(count);
      if (isAway.compareAndSet(false, true)) {
        LOG.warn(
            "traces_not_sent endpoint={} spans={} detail=\"{}\"; calls are not affected",
            endpoint,
            count,
            detail(result.getFailureThrowable()));
      }
    }

    @Override
    public CompletableResultCode flush() {
      return exporter.flush();
    }

    @Override
    public CompletableResultCode shutdown() {
      return exporter.shutdown();
    }
  }

  private static String detail(@Nullable Throwable failure) {
    Throwable cause = failure;
    while (cause != null && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause == null ? "the collector did not accept the spans" : cause.toString();
  }
}
