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
 * When a partition moves to another instance, its figures move with it. Thread-safe.
 */
final class AccuracyMetrics {
  /**
   * Maximum number of policies with their own label. A policy file has at most this number of
   * policies, but the records also contain renamed and removed policies.
   */
  static final int MAX_POLICIES = 1_000;

  /** The label of all policies without their own label. The records use the same name. */
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
          .description("corrections published for partitions that this instance counts, by cause")
          .tag("reason", cause.wireName())
          .register(registry);
    }
  }

  /** Replaces the figures with the newest figures of the partitions that this instance counts. */
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
          "calls that the cache admitted but should have denied, according to the records",
          Figures::wronglyAdmitted);
      counter(
          label,
          "weir.wrongly.denied",
          "calls that the cache denied but should have admitted, according to the records",
          Figures::wronglyDenied);
      counter(
          label,
          "weir.outage.tokens",
          "tokens of calls that were admitted without the cache",
          Figures::outageTokens);
      gauge(
          label,
          "weir.drift.tokens",
          "tokens by which the cache and the records currently differ",
          Figures::driftNowTokens);
      gauge(
          label,
          "weir.outage.open.tokens",
          "tokens of calls that were admitted without the cache and that the cache has not yet charged",
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
