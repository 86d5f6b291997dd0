// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.PartitionProgress.State;
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/**
 * The figures of partitions in {@code /metrics}. The figures of a partition are from its last
 * published progress, so that received = counted + duplicate + late-adjusted + quarantined. A
 * partition that this instance does not count has no figures. Otherwise the counters of a partition
 * would decrease to 0 when the partition moves away, and would seem to increase when it returns.
 * Thread-safe.
 */
final class PartitionMetrics {
  private final MeterRegistry registry;
  private final Clock clock;
  private final Map<Integer, Optional<PartitionProgress>> newest = new ConcurrentHashMap<>();
  private final Map<Integer, List<Meter>> registered = new HashMap<>();

  PartitionMetrics(MeterRegistry registry, Clock clock) {
    this.registry = registry;
    this.clock = clock;
  }

  /**
   * Replaces the figures and the set of partitions.
   *
   * @param counted the progress of each partition that this instance counts; empty if no record of
   *     the partition has been counted
   */
  synchronized void update(Map<Integer, Optional<PartitionProgress>> counted) {
    newest.putAll(counted);
    newest.keySet().retainAll(counted.keySet());
    counted.keySet().forEach(partition -> registered.computeIfAbsent(partition, this::register));
    registered.forEach(
        (partition, meters) -> {
          if (!counted.containsKey(partition)) {
            meters.forEach(registry::remove);
          }
        });
    registered.keySet().retainAll(counted.keySet());
  }

  private List<Meter> register(int partition) {
    PartitionMeters meters = new PartitionMeters(partition);
    meters.lines("received", Counters::received);
    meters.lines("counted", Counters::counted);
    meters.lines("duplicate", Counters::duplicate);
    meters.lines("late_adjusted", Counters::lateAdjusted);
    meters.lines("quarantined", Counters::quarantined);
    meters.counter(
        "weir.id.conflicts",
        "calls with the id of another call; both are billed",
        Tags.empty(),
        PartitionProgress::idConflicts);
    meters.counter(
        "weir.period.conflicts",
        "lines whose billing period differs from the billing period of their row",
        Tags.empty(),
        PartitionProgress::periodConflicts);
    meters.counter(
        "weir.other.rows.lines",
        "lines of endpoints beyond WEIR_MAX_ENDPOINTS, which are billed in the row 'other'",
        Tags.empty(),
        PartitionProgress::inOtherRows);
    meters.gauge(
        "weir.watermark.lag.ms",
        "age of the partition's watermark, in milliseconds",
        progress -> lag(progress.watermarkEpochMillis()));
    meters.gauge(
        "weir.closed.through.lag.ms",
        "age of the end of the partition's last closed window, in milliseconds",
        progress -> lag(progress.closedThroughEpochMillis()));
    meters.gauge(
        "weir.missing.lines",
        "lines of calls that are missing between arrived lines of the same journals",
        progress ->
            progress.nodes().stream().mapToLong(PartitionProgress.Node::missingLines).sum());
    meters.gauge(
        "weir.known.journals",
        "journals of ingest nodes, except those with a final heartbeat more than an hour ago",
        progress -> progress.nodes().size());
    meters.gauge(
        "weir.lost.journals",
        "journals without a final heartbeat whose node has opened a newer journal",
        progress -> count(progress, State.LOST));
    meters.gauge(
        "weir.silent.nodes",
        "nodes whose low watermark lags by more than WEIR_MAX_HOLD, so that windows do not wait for them",
        progress -> count(progress, State.SILENT));
    return meters.all;
  }

  /** The registered meters of one partition. */
  private final class PartitionMeters {
    private final int partition;
    private final List<Meter> all = new ArrayList<>();

    PartitionMeters(int partition) {
      this.partition = partition;
    }

    void lines(String outcome, ToLongFunction<Counters> value) {
      counter(
          "weir.lines",
          "lines of calls; received = counted + duplicate + late_adjusted + quarantined",
          Tags.of("outcome", outcome),
          progress -> value.applyAsLong(progress.counters()));
    }

    void counter(
        String name, String description, Tags tags, ToLongFunction<PartitionProgress> value) {
      all.add(
          FunctionCounter.builder(
                  name, newest, known -> progress(known).map(value::applyAsLong).orElse(0L))
              .description(description)
              .tags(tags)
              .tag("partition", Integer.toString(partition))
              .register(registry));
    }

    void gauge(String name, String description, ToDoubleFunction<PartitionProgress> value) {
      all.add(
          Gauge.builder(
                  name,
                  newest,
                  known -> progress(known).map(value::applyAsDouble).orElse(Double.NaN))
              .description(description)
              .tag("partition", Integer.toString(partition))
              .register(registry));
    }

    private Optional<PartitionProgress> progress(Map<Integer, Optional<PartitionProgress>> known) {
      return known.getOrDefault(partition, Optional.empty());
    }
  }

  private static long count(PartitionProgress progress, State state) {
    return progress.nodes().stream().filter(node -> node.state() == state).count();
  }

  private double lag(long epochMillis) {
    return epochMillis == 0 ? Double.NaN : Math.max(0, clock.millis() - epochMillis);
  }
}
