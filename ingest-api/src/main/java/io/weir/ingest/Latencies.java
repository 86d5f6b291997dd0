// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * How long the parts of a call take, and how large batches are: median, 99 % and 99.9 % of about
 * the last minute, from HdrHistograms, and count, sum and maximum. Thread-safe.
 */
final class Latencies {
  private static final double[] PERCENTILES = {0.5, 0.99, 0.999};

  /** Longer than two scrape intervals, and short enough that an alert ends soon after its cause. */
  private static final Duration WINDOW = Duration.ofMinutes(1);

  private final Timer decision;
  private final Timer write;
  private final Timer request;
  private final DistributionSummary batchCalls;
  private final DistributionSummary batchBytes;

  Latencies(MeterRegistry registry) {
    decision =
        timer(
            registry,
            "weir.decision",
            "seconds from the question to the cache to its answer or giving up");
    write =
        timer(
            registry,
            "weir.log.write",
            "seconds until a call was as durable as WEIR_DURABILITY says");
    request =
        timer(
            registry,
            "weir.request",
            "seconds from the head of a request taken in to its answer's end");
    batchCalls = summary(registry, "weir.log.batch.calls", "calls in a sealed batch");
    batchBytes = summary(registry, "weir.log.batch.bytes", "bytes of a sealed batch's calls");
  }

  private static Timer timer(MeterRegistry registry, String name, String description) {
    return Timer.builder(name)
        .description(description)
        .publishPercentiles(PERCENTILES)
        .distributionStatisticExpiry(WINDOW)
        .register(registry);
  }

  private static DistributionSummary summary(
      MeterRegistry registry, String name, String description) {
    return DistributionSummary.builder(name)
        .description(description)
        .publishPercentiles(PERCENTILES)
        .distributionStatisticExpiry(WINDOW)
        .register(registry);
  }

  void decided(long nanos) {
    decision.record(nanos, TimeUnit.NANOSECONDS);
  }

  void written(long nanos) {
    write.record(nanos, TimeUnit.NANOSECONDS);
  }

  void answered(long nanos) {
    request.record(nanos, TimeUnit.NANOSECONDS);
  }

  void sealed(long calls, long bytes) {
    batchCalls.record((double) calls);
    batchBytes.record((double) bytes);
  }
}
