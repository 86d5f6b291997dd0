// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;

/**
 * What is told of traces. Of the spans that have ended, <b>ended = sent + failed + dropped + held
 * in memory</b>. Thread-safe.
 */
final class TraceStatistics {
  /** Requests that are traced. */
  final Counter traced;

  /** Requests that were to be traced, and are not since there are too many. */
  final Counter overRate;

  /** Spans that the collector has taken. */
  final Counter sent;

  /** Spans that the collector has not taken. */
  final Counter failed;

  /** Spans for which there was no room. */
  final Counter dropped;

  TraceStatistics(MeterRegistry registry) {
    traced = requests(registry, "traced");
    overRate = requests(registry, "over-rate");
    sent = spans(registry, "sent");
    failed = spans(registry, "failed");
    dropped = spans(registry, "dropped");
  }

  private static Counter requests(MeterRegistry registry, String outcome) {
    return Counter.builder("weir.traces.requests")
        .description("requests that are traced, and that are not since too many were to be")
        .tag("outcome", outcome)
        .register(registry);
  }

  private static Counter spans(MeterRegistry registry, String outcome) {
    return Counter.builder("weir.traces.spans")
        .description("spans that the collector has taken, has not taken, or for which was no room")
        .tag("outcome", outcome)
        .register(registry);
  }
}
