// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.ingest.correct.CorrectionStatistics;
import io.weir.limits.correction.CorrectionOutcome;
import java.time.Duration;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** Metrics of the applier of corrections. */
final class CorrectionMetrics {
  private static final double[] QUANTILES = {0.5, 0.99};

  private CorrectionMetrics() {}

  /** Creates statistics and registers their figures. */
  static CorrectionStatistics register(MeterRegistry registry) {
    CorrectionStatistics statistics = new CorrectionStatistics(new AgeTimers(registry));
    bindRecords(registry, statistics);
    bindCache(registry, statistics);
    return statistics;
  }

  private static void bindRecords(MeterRegistry registry, CorrectionStatistics statistics) {
    for (CorrectionOutcome.Kind kind : CorrectionOutcome.Kind.values()) {
      FunctionCounter.builder("weir.corrections", statistics, s -> s.outcomes(kind))
          .description("corrections the cache has answered")
          .tag("outcome", kind.name().toLowerCase(Locale.ROOT))
          .register(registry);
    }
    counter(
        registry,
        "weir.corrections.read",
        "records read from the corrections topic",
        statistics,
        CorrectionStatistics::read);
    counter(
        registry,
        "weir.corrections.superseded",
        "corrections left out for a newer one of their bucket",
        statistics,
        CorrectionStatistics::superseded);
    counter(
        registry,
        "weir.corrections.malformed",
        "records of the corrections topic that were skipped",
        statistics,
        CorrectionStatistics::malformed);
    counter(
        registry,
        "weir.corrections.restored",
        "records that say that a partition is restored",
        statistics,
        CorrectionStatistics::restoredWords);
    counter(
        registry,
        "weir.corrections.handed.back",
        "records given up unanswered; they are read again",
        statistics,
        CorrectionStatistics::handedBack);
    counter(
        registry,
        "weir.corrections.clamped",
        "corrections whose debit the debt cap cut",
        statistics,
        CorrectionStatistics::clamped);
    counter(
        registry,
        "weir.corrections.retries",
        "batches given to the cache again since it did not answer",
        statistics,
        CorrectionStatistics::retries);
    tokens(registry, "given", statistics, CorrectionStatistics::tokensGiven);
    tokens(registry, "taken", statistics, CorrectionStatistics::tokensTaken);
    gauge(
        registry,
        "weir.corrections.waiting",
        "records read that the cache has not answered",
        statistics,
        CorrectionStatistics::waiting);
    gauge(
        registry,
        "weir.corrections.lag.records",
        "records of this node's partitions that are not applied",
        statistics,
        CorrectionStatistics::lagRecords);
  }

  private static void tokens(
      MeterRegistry registry,
      String direction,
      CorrectionStatistics statistics,
      ToDoubleFunction<CorrectionStatistics> value) {
    FunctionCounter.builder("weir.corrections.tokens", statistics, value)
        .description("tokens that corrections gave to buckets, or took from them")
        .tag("direction", direction)
        .register(registry);
  }

  private static void bindCache(MeterRegistry registry, CorrectionStatistics statistics) {
    gauge(
        registry,
        "weir.cache.warmth",
        "1 when the cache's state is whole, 0 when it was lost, -1 when that is not known",
        statistics,
        s -> number(s.warmth()));
    restorations(registry, "begun", statistics, CorrectionStatistics::restorationsBegun);
    restorations(registry, "abandoned", statistics, CorrectionStatistics::restorationsAbandoned);
    restorations(registry, "completed", statistics, CorrectionStatistics::restorationsCompleted);
  }

  private static int number(Warmth warmth) {
    return switch (warmth) {
      case WARM -> 1;
      case COLD -> 0;
      case UNKNOWN -> -1;
    };
  }

  private static void restorations(
      MeterRegistry registry,
      String event,
      CorrectionStatistics statistics,
      ToDoubleFunction<CorrectionStatistics> value) {
    FunctionCounter.builder("weir.cache.restorations", statistics, value)
        .description("restorations of a lost cache that this node announced")
        .tag("event", event)
        .register(registry);
  }

  private static void counter(
      MeterRegistry registry,
      String name,
      String description,
      CorrectionStatistics statistics,
      ToDoubleFunction<CorrectionStatistics> value) {
    FunctionCounter.builder(name, statistics, value).description(description).register(registry);
  }

  private static void gauge(
      MeterRegistry registry,
      String name,
      String description,
      CorrectionStatistics statistics,
      ToDoubleFunction<CorrectionStatistics> value) {
    Gauge.builder(name, statistics, value).description(description).register(registry);
  }

  /**
   * Timers of the ages of corrections at the time they were applied, named {@code
   * weir_correction_age_seconds}.
   */
  private static final class AgeTimers implements CorrectionStatistics.Ages {
    private final Timer sinceDisturbed;
    private final Timer sinceComputed;

    AgeTimers(MeterRegistry registry) {
      sinceDisturbed = timer(registry, "disturbed");
      sinceComputed = timer(registry, "computed");
    }

    private static Timer timer(MeterRegistry registry, String since) {
      return Timer.builder("weir.correction.age")
          .description("age of a correction when the cache had applied it, in seconds")
          .tag("since", since)
          .publishPercentiles(QUANTILES)
          .register(registry);
    }

    @Override
    public void sinceDisturbed(long millis) {
      sinceDisturbed.record(Duration.ofMillis(millis));
    }

    @Override
    public void sinceComputed(long millis) {
      sinceComputed.record(Duration.ofMillis(millis));
    }
  }
}
