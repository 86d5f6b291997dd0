// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A span processor that bounds the number of spans in memory. The processor forwards an ended span
 * if fewer spans than the maximum are in memory. Otherwise the processor drops and counts the span.
 * A span stays in memory until the collector has accepted or refused it. Thread-safe; never blocks.
 */
final class BoundedSpans implements SpanProcessor {
  private final SpanProcessor next;
  private final AtomicInteger held;
  private final int maxHeld;
  private final TraceStatistics statistics;

  /**
   * Creates a bound.
   *
   * @param next receives the spans that are not dropped
   * @param held number of spans in memory; the exporter decreases it
   */
  BoundedSpans(SpanProcessor next, AtomicInteger held, int maxHeld, TraceStatistics statistics) {
    this.next = next;
    this.held = held;
    this.maxHeld = maxHeld;
    this.statistics = statistics;
  }

  @Override
  public void onStart(Context parent, ReadWriteSpan span) {}

  @Override
  public boolean isStartRequired() {
    return false;
  }

  @Override
  public void onEnd(ReadableSpan span) {
    if (held.incrementAndGet() > maxHeld) {
      held.decrementAndGet();
      statistics.dropped.increment();
      return;
    }
    next.onEnd(span);
  }

  @Override
  public boolean isEndRequired() {
    return true;
  }

  @Override
  public CompletableResultCode shutdown() {
    return next.shutdown();
  }

  @Override
  public CompletableResultCode forceFlush() {
    return next.forceFlush();
  }
}
