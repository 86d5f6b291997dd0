// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.aggregator.topology.BoundedRocksMemory;
import io.weir.aggregator.topology.Rebalances;
import io.weir.aggregator.topology.StoppedPartitions;
import io.weir.aggregator.topology.WrittenRows;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Counters;
import java.time.Clock;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;

/**
 * The figures of {@code /metrics}. Those of a partition are told by the aggregator that counts it,
 * as of its last published progress, so the terms of the equation always belong together.
 */
final class ReportMetrics {
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Map<Integer, PartitionProgress> newest = new ConcurrentHashMap<>();
  private final Map<Integer, PartitionAccuracy> accuracy = new ConcurrentHashMap<>();
  private final AccuracyMetrics accuracyMetrics = new AccuracyMetrics(registry);
  private final UsageTable table;
  private final Instances instances;
  private final int partitions;
  private final Clock clock;

  ReportMetrics(
      UsageTable table,
      Instances instances,
      int partitions,
      Clock clock,
      WrittenRows written,
      Rebalances rebalances,
      StoppedPartitions stopped) {
    this.table = table;
    this.instances = instances;
    this.partitions = partitions;
    this.clock = clock;
    for (int partition = 0; partition < partitions; partition++) {
      registerPartition(partition);
    }
    FunctionCounter.builder("weir.ledger.rows", written, WrittenRows::finals)
        .tag("type", "final")
        .register(registry);
    FunctionCounter.builder("weir.ledger.rows", written, WrittenRows::adjustments)
        .tag("type", "adjustment")
        .register(registry);
    FunctionCounter.builder("weir.ledger.rows", written, WrittenRows::closes)
        .tag("type", "close")
        .register(registry);
    registerInstances(rebalances);
    Gauge.builder("weir.stopped.partitions", stopped, all -> all.all().size())
        .description("partitions that stand still since a record makes the counting fail")
        .register(registry);
    Gauge.builder("weir.rocksdb.used.bytes", BoundedRocksMemory::usedBytes).register(registry);
    Gauge.builder("weir.rocksdb.max.bytes", () -> BoundedRocksMemory.MAX_BYTES).register(registry);
    new JvmMemoryMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
  }

  private void registerInstances(Rebalances rebalances) {
    Gauge.builder("weir.streams.running", rebalances, all -> all.isRunning() ? 1 : 0)
        .tag("application", "meter-core")
        .register(registry);
    FunctionCounter.builder("weir.rebalances", rebalances, Rebalances::count).register(registry);
    FunctionCounter.builder("weir.rebalancing.seconds", rebalances, Rebalances::totalSeconds)
        .register(registry);
    placed("counted", () -> instances.counted().size());
    placed("copied", () -> instances.here().size() - instances.counted().size());
    placed("readable", () -> (int) IntStream.range(0, partitions).filter(table::isHere).count());
  }

  private void placed(String role, Supplier<Number> count) {
    Gauge.builder("weir.partitions", count).tag("role", role).register(registry);
  }

  private void registerPartition(int partition) {
    lines(partition, "received", Counters::received);
    lines(partition, "counted", Counters::counted);
    lines(partition, "duplicate", Counters::duplicate);
    lines(partition, "late_adjusted", Counters::lateAdjusted);
    lines(partition, "quarantined", Counters::quarantined);
    FunctionCounter.builder(
            "weir.id.conflicts",
            newest,
            map -> {
              PartitionProgress progress = map.get(partition);
              return progress == null ? 0 : progress.idConflicts();
            })
        .description("calls under an id that names another call; they are billed")
        .tag("partition", Integer.toString(partition))
        .register(registry);
    gauge(partition, "weir.watermark.lag.ms", progress -> lag(progress.watermarkEpochMillis()));
    gauge(
        partition,
        "weir.closed.through.lag.ms",
        progress -> lag(progress.closedThroughEpochMillis()));
    gauge(
        partition,
        "weir.missing.lines",
        progress ->
            progress.nodes().stream().mapToLong(PartitionProgress.Node::missingLines).sum());
    gauge(partition, "weir.known.journals", progress -> progress.nodes().size());
    gauge(
        partition,
        "weir.lost.journals",
        progress ->
            progress.nodes().stream()
                .filter(node -> node.state() == PartitionProgress.State.LOST)
                .count());
    gauge(
        partition,
        "weir.silent.nodes",
        progress ->
            progress.nodes().stream()
                .filter(node -> node.state() == PartitionProgress.State.SILENT)
                .count());
  }

  private double lag(long epochMillis) {
    return epochMillis == 0 ? Double.NaN : Math.max(0, clock.millis() - epochMillis);
  }

  private void lines(int partition, String outcome, ToLongFunction<Counters> value) {
    FunctionCounter.builder(
            "weir.lines",
            newest,
            map -> {
              PartitionProgress progress = map.get(partition);
              return progress == null ? 0 : value.applyAsLong(progress.counters());
            })
        .description("call lines; received = counted + duplicate + late_adjusted + quarantined")
        .tag("outcome", outcome)
        .tag("partition", Integer.toString(partition))
        .register(registry);
  }

  private void gauge(int partition, String name, ToDoubleFunction<PartitionProgress> value) {
    Gauge.builder(
            name,
            newest,
            map -> {
              PartitionProgress progress = map.get(partition);
              return progress == null ? Double.NaN : value.applyAsDouble(progress);
            })
        .tag("partition", Integer.toString(partition))
        .register(registry);
  }

  /** The text Prometheus reads. */
  String scrape() {
    Set<Integer> counted = instances.counted();
    newest.keySet().retainAll(counted);
    accuracy.keySet().retainAll(counted);
    for (int one : counted) {
      try {
        table.progress(one).ifPresent(progress -> newest.put(one, progress));
        table.accuracy(one).ifPresent(record -> accuracy.put(one, record));
      } catch (ProblemException elsewhere) {
        newest.remove(one);
        accuracy.remove(one);
      }
    }
    accuracyMetrics.update(accuracy.values());
    return registry.scrape();
  }
}
