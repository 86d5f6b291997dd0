// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.net.URI;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A span exporter that counts sent and failed spans, and logs the beginning and the end of an
 * outage of the collector. Thread-safe.
 */
final class CountedExporter implements SpanExporter {
  private static final Logger LOG = LoggerFactory.getLogger(CountedExporter.class);

  private final SpanExporter exporter;
  private final URI endpoint;
  private final TraceStatistics statistics;
  private final IntConsumer ended;
  private final AtomicBoolean isAway = new AtomicBoolean();

  /**
   * Creates an exporter.
   *
   * @param endpoint the collector's address, for the log
   * @param ended receives the number of exported spans after each export, successful or not; these
   *     spans leave memory
   */
  CountedExporter(
      SpanExporter exporter, URI endpoint, TraceStatistics statistics, IntConsumer ended) {
    this.exporter = exporter;
    this.endpoint = endpoint;
    this.statistics = statistics;
    this.ended = ended;
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
    ended.accept(count);
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

  private static String detail(@Nullable Throwable failure) {
    Throwable cause = failure;
    while (cause != null && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause == null ? "the collector did not accept the spans" : cause.toString();
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
