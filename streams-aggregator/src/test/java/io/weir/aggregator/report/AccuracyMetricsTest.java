// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class AccuracyMetricsTest {
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final AccuracyMetrics metrics = new AccuracyMetrics(registry);

  @Test
  void scrape_afterUpdate_hasTheDocumentedNames() {
    metrics.update(
        List.of(
            partition(0, Map.of("burst", new Figures(10, 1, 2, 3, 4, 5))),
            partition(1, Map.of("burst", new Figures(1, 1, 1, 1, 1, 1)))));

    String text = registry.scrape();
    assertHolds(text, "weir_decisions_judged_total{policy=\"burst\"} 11.0");
    assertHolds(text, "weir_wrongly_admitted_total{policy=\"burst\"} 2.0");
    assertHolds(text, "weir_wrongly_denied_total{policy=\"burst\"} 3.0");
    assertHolds(text, "weir_drift_tokens{policy=\"burst\"} 4.0");
    assertHolds(text, "weir_outage_tokens_total{policy=\"burst\"} 5.0");
    assertHolds(text, "weir_outage_open_tokens{policy=\"burst\"} 6.0");
    assertHolds(text, "weir_corrections_published_total{reason=\"gap\"} 6.0");
    assertHolds(text, "weir_corrections_published_total{reason=\"restore\"} 0.0");
  }

  @Test
  void update_withPoliciesAboveTheBound_sumsTheRest() {
    Map<String, Figures> many = new HashMap<>();
    for (int i = 0; i < AccuracyMetrics.MAX_POLICIES + 5; i++) {
      many.put("p" + i, new Figures(1, 0, 0, 0, 0, 0));
    }
    metrics.update(List.of(partition(0, many)));
    metrics.update(List.of(partition(0, many)));

    String text = registry.scrape();
    assertHolds(text, "weir_decisions_judged_total{policy=\"(other)\"} 5.0");
    assertEquals(
        AccuracyMetrics.MAX_POLICIES + 1,
        text.lines().filter(line -> line.startsWith("weir_decisions_judged_total{")).count());
  }

  private static void assertHolds(String text, String line) {
    assertTrue(text.contains(line), () -> line + " is not in\n" + text);
  }

  private static PartitionAccuracy partition(int partition, Map<String, Figures> policies) {
    return new PartitionAccuracy(
        partition,
        1,
        policies,
        Map.of(Cause.GAP, 3L),
        Collections.nCopies(PartitionAccuracy.DELAY_BOUNDS_MILLIS.size() + 1, 0L));
  }
}
