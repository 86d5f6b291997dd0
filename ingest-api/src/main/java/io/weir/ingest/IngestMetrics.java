// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.DecisionClock;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.topics.metrics.LibraryMetrics;
import io.weir.topics.model.CallEvent;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The registry of an ingest node's metrics, with the metrics that belong to no single component.
 * Each component registers its own metrics. Thread-safe.
 */
final class IngestMetrics implements AutoCloseable {
  private static final double NANOS_PER_SECOND = 1e9;

  /**
   * The default statistics of timers and summaries: median, 99 % and 99.9 % over about the last
   * minute. A minute is longer than two scrape intervals, and short enough that an alert ends soon
   * after its cause has ended.
   */
  private static final DistributionStatisticConfig DISTRIBUTION =
      DistributionStatisticConfig.builder()
          .percentiles(0.5, 0.99, 0.999)
          .expiry(Duration.ofMinutes(1))
          .build();

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final LibraryMetrics libraries;

  IngestMetrics() {
    registry.config().meterFilter(new PublishedQuantiles());
    libraries = new LibraryMetrics(registry);
  }

  /** Publishes the quantiles of Weir's own timers and summaries. */
  private static final class PublishedQuantiles implements MeterFilter {
    @Override
    public DistributionStatisticConfig configure(Meter.Id id, DistributionStatisticConfig config) {
      return id.getName().startsWith("weir.") && config.getPercentiles() == null
          ? DISTRIBUTION.merge(config)
          : config;
    }
  }

  /**
   * Registers the configured limits as metrics, so that alert rules can refer to them.
   *
   * @param maxJournalBytes maximum number of bytes of calls that are not yet in Kafka
   * @param decisionDeadline maximum time for the cache's reply to a check
   */
  void bindBounds(long maxJournalBytes, Duration decisionDeadline) {
    bound(
        "weir.log.journal.max.bytes",
        "maximum bytes of calls in the journal (WEIR_JOURNAL_MAX_BYTES)",
        (double) maxJournalBytes);
    bound(
        "weir.decision.deadline.seconds",
        "maximum time for the cache to reply to a check, in seconds (WEIR_DECISION_DEADLINE)",
        decisionDeadline.toNanos() / NANOS_PER_SECOND);
  }

  private void bound(String name, String description, double value) {
    Gauge.builder(name, () -> value).description(description).register(registry);
  }

  /** Registers a metric for the difference between the clocks of this machine and the cache. */
  void bindClock(DecisionClock clock) {
    Gauge.builder("weir.clock.offset.ms", clock, DecisionClock::offsetMillis)
        .description(
            "milliseconds by which Redis' clock is ahead of this machine's clock; calls have"
                + " the time of Redis' clock")
        .register(registry);
  }

  /** Returns a cache that forwards to the given cache and measures the duration of its replies. */
  DecisionCache timed(DecisionCache cache) {
    return new TimedDecisionCache(
        cache,
        Timer.builder("weir.decision")
            .description("seconds from a request to the cache to its reply or timeout")
            .register(registry));
  }

  /** Returns a log that forwards to the given log and measures the duration of its writes. */
  CallLog timed(CallLog log) {
    return new TimedCallLog(
        log,
        Timer.builder("weir.log.write")
            .description("seconds until a call is recorded with the durability of WEIR_DURABILITY")
            .register(registry));
  }

  /** Returns the registry in which the components of the node register their metrics. */
  MeterRegistry registry() {
    return registry;
  }

  /** Returns the metrics in the Prometheus text format. */
  String scrape() {
    return registry.scrape();
  }

  @Override
  public void close() {
    libraries.close();
    registry.close();
  }

  /** Measures the duration of a request that began at the given {@link System#nanoTime}. */
  private static <T> CompletableFuture<T> measured(
      Timer timer, long begunNanos, CompletableFuture<T> reply) {
    return reply.whenComplete(
        (result, failed) -> timer.record(System.nanoTime() - begunNanos, TimeUnit.NANOSECONDS));
  }

  private record TimedDecisionCache(DecisionCache cache, Timer decisions) implements DecisionCache {
    @Override
    public CompletableFuture<Decision> submit(Check check) {
      return measured(decisions, System.nanoTime(), cache.submit(check));
    }

    @Override
    public CompletableFuture<Decision> submitPeek(Check check) {
      return measured(decisions, System.nanoTime(), cache.submitPeek(check));
    }

    @Override
    public CompletableFuture<Decision> submitRelease(Check check) {
      return measured(decisions, System.nanoTime(), cache.submitRelease(check));
    }

    @Override
    public DecisionCache.Health check() {
      return cache.check();
    }

    @Override
    public void close() {
      cache.close();
    }
  }

  private record TimedCallLog(CallLog log, Timer writes) implements CallLog {
    @Override
    public long nowEpochMillis() {
      return log.nowEpochMillis();
    }

    @Override
    public Ticket begin() {
      return log.begin();
    }

    @Override
    public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls) {
      return submit(ticket, calls, null);
    }

    @Override
    public CompletableFuture<List<Recorded>> submit(
        Ticket ticket, List<CallEvent> calls, @Nullable Runnable whenAcked) {
      long begunNanos = System.nanoTime();
      CompletableFuture<List<Recorded>> recorded = log.submit(ticket, calls, whenAcked);
      return calls.isEmpty() ? recorded : measured(writes, begunNanos, recorded);
    }

    @Override
    public CallLog.Health check() {
      return log.check();
    }

    @Override
    public void close() {
      log.close();
    }
  }
}
