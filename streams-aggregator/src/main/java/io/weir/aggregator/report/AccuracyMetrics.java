// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToLongFunction;

/**
 * The accuracy figures in {@code /metrics}, summed over the partitions that this instance counts.
 * When a partition moves, its figures move too. Thread-safe.
 */
final class AccuracyMetrics {
  /**
   * Maximum number of policies with their own label. A policy file has at most this many, but
   * renamed and removed policies remain in the records.
   */
  static final int MAX_POLICIES = 1_000;

  /** The label of all other policies, as in the records. */
  static final String OTHER = "(other)";

  private final MeterRegistry registry;
  private final Set<String> registered = new HashSet<>();
  private volatile Map<String, Figures> policies = Map.of();
  private volatile AccuracySum sum = AccuracySum.of(List.of());

  AccuracyMetrics(MeterRegistry registry) {
    this.registry = registry;
    for (Cause cause : Cause.values()) {
      FunctionCounter.builder(
              "weir.corrections.published",
              this,
              metrics -> metrics.sum.corrections().getOrDefault(cause, 0L))
          .description("corrections published for partitions counted here, by cause")
          .tag("reason", cause.wireName())
          .register(registry);
    }
  }

  /** Replaces the figures by the newest ones of the partitions counted here. */
  synchronized void update(Collection<PartitionAccuracy> here) {
    sum = AccuracySum.of(here);
    Map<String, Figures> next = new HashMap<>();
    sum.policies()
        .forEach((policy, figures) -> next.merge(label(policy), figures, AccuracySum::add));
    policies = Map.copyOf(next);
  }

  private String label(String policy) {
    if (registered.contains(policy)) {
      return policy;
    }
    String label = registered.size() < MAX_POLICIES ? policy : OTHER;
    if (registered.add(label)) {
      counter(
          label,
          "weir.decisions.judged",
          "decisions of the cache that were compared with the records",
          Figures::decided);
      counter(
          label,
          "weir.wrongly.admitted",
          "calls that the cache admitted and should have denied according to the records",
          Figures::wronglyAdmitted);
      counter(
          label,
          "weir.wrongly.denied",
          "calls that the cache denied and should have admitted according to the records",
          Figures::wronglyDenied);
      counter(
          label,
          "weir.outage.tokens",
          "tokens of calls admitted without the cache",
          Figures::outageTokens);
      gauge(
          label,
          "weir.drift.tokens",
          "tokens by which the cache and the records currently differ",
          Figures::driftNowTokens);
      gauge(
          label,
          "weir.outage.open.tokens",
          "tokens of calls admitted without the cache and not yet charged in it",
          Figures::outageOpenTokens);
    }
    return label;
  }

  private void counter(
      String policy, String name, String description, ToLongFunction<Figures> value) {
    FunctionCounter.builder(name, this, metrics -> metrics.figure(policy, value))
        .description(description)
        .tag("policy", policy)
        .register(registry);
  }

  private void gauge(
      String policy, String name, String description, ToLongFunction<Figures> value) {
    Gauge.builder(name, this, metrics -> metrics.figure(policy, value))
        .description(description)
        .tag("policy", policy)
        .register(registry);
  }

  private long figure(String policy, ToLongFunction<Figures> value) {
    return value.applyAsLong(policies.getOrDefault(policy, Figures.NONE));
  }
}
