// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.PartitionProgress.Node;
import io.weir.topics.model.PartitionProgress.State;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class PartitionMetricsTest {
  private static final String QUARANTINED =
      "weir_lines_total{outcome=\"quarantined\",partition=\"1\"} ";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final PartitionMetrics metrics =
      new PartitionMetrics(registry, Clock.fixed(Instant.ofEpochMilli(5_000), ZoneOffset.UTC));

  @Test
  void partitionWithProgress_reportsItsFigures() {
    metrics.update(Map.of(1, Optional.of(progress(1, 4))));

    assertTells(QUARANTINED + "4.0");
    assertTells("weir_watermark_lag_ms{partition=\"1\"} 2000.0");
    assertTells("weir_lost_journals{partition=\"1\"} 1.0");
    assertTells("weir_period_conflicts_total{partition=\"1\"} 2.0");
    assertTells("weir_other_rows_lines_total{partition=\"1\"} 3.0");

    metrics.update(Map.of(1, Optional.of(progress(1, 6))));
    assertTells(QUARANTINED + "6.0");
  }

  @Test
  void partitionWithoutProgress_reportsZero() {
    metrics.update(Map.of(1, Optional.empty()));

    assertTells(QUARANTINED + "0.0");
  }

  /** A 0 in between would be an increase by all that was ever quarantined, when it comes back. */
  @Test
  void partitionMovedAway_isNotReported_untilItReturns() {
    metrics.update(Map.of(1, Optional.of(progress(1, 4)), 2, Optional.of(progress(2, 0))));

    metrics.update(Map.of(2, Optional.of(progress(2, 0))));
    assertFalse(registry.scrape().contains("partition=\"1\""), registry::scrape);
    assertTells("partition=\"2\"");

    metrics.update(Map.of(1, Optional.of(progress(1, 4)), 2, Optional.of(progress(2, 0))));
    assertTells(QUARANTINED + "4.0");
  }

  private void assertTells(String text) {
    assertTrue(registry.scrape().contains(text), () -> text + " is not in " + registry.scrape());
  }

  private static PartitionProgress progress(int partition, long quarantined) {
    return new PartitionProgress(
        partition,
        7,
        3_000,
        0,
        3_000,
        new Counters(10 + quarantined, 10, 0, 0, quarantined),
        0,
        2,
        3,
        2,
        List.of(new Node("n", 1, 10, 0, 3_000, State.LOST)),
        List.of());
  }
}
