// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;

/**
 * Metrics of traces. For all spans that have ended, <b>ended = sent + failed + dropped + in
 * memory</b>. Thread-safe.
 */
final class TraceStatistics {
  /** Traced requests. */
  final Counter traced;

  /** Requests selected for tracing but not traced, because they exceeded the maximum rate. */
  final Counter overRate;

  /** Spans that the collector accepted. */
  final Counter sent;

  /** Spans that the collector did not accept in time. */
  final Counter failed;

  /** Spans dropped because too many spans were in memory. */
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
        .description("requests that are traced, or not traced because of the maximum rate")
        .tag("outcome", outcome)
        .register(registry);
  }

  private static Counter spans(MeterRegistry registry, String outcome) {
    return Counter.builder("weir.traces.spans")
        .description(
            "spans by outcome: accepted by the collector, not accepted, or dropped because "
                + "too many were in memory")
        .tag("outcome", outcome)
        .register(registry);
  }
}
