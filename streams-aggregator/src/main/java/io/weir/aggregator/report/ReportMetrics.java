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
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The figures of {@code /metrics}. Those of a partition are exposed by the aggregator that counts
 * it. Thread-safe.
 */
final class ReportMetrics {
  private static final Logger LOG = LoggerFactory.getLogger(ReportMetrics.class);

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final AccuracyMetrics accuracyMetrics = new AccuracyMetrics(registry);
  private final PartitionMetrics partitionMetrics;
  private final UsageTable table;
  private final Instances instances;
  private final int partitions;

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
    this.partitionMetrics = new PartitionMetrics(registry, clock);
    rows("final", written, WrittenRows::finals);
    rows("adjustment", written, WrittenRows::adjustments);
    rows("close", written, WrittenRows::closes);
    registerInstances(rebalances);
    Gauge.builder("weir.stopped.partitions", stopped, all -> all.all().size())
        .description("partitions that stand still since a record makes the counting fail")
        .register(registry);
    Gauge.builder("weir.rocksdb.used.bytes", BoundedRocksMemory::usedBytes)
        .description("bytes of memory that all stores use")
        .register(registry);
    Gauge.builder("weir.rocksdb.max.bytes", () -> BoundedRocksMemory.MAX_BYTES)
        .description("bytes of memory that all stores may use")
        .register(registry);
    new JvmMemoryMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
  }

  private void rows(String type, WrittenRows written, ToDoubleFunction<WrittenRows> value) {
    FunctionCounter.builder("weir.ledger.rows", written, value)
        .description("rows of the ledger handed to Kafka, also of transactions aborted later")
        .tag("type", type)
        .register(registry);
  }

  private void registerInstances(Rebalances rebalances) {
    Gauge.builder("weir.streams.running", rebalances, all -> all.isRunning() ? 1 : 0)
        .description("1 when the application counts, 0 while it rebalances, restores or is stopped")
        .tag("application", "meter-core")
        .register(registry);
    FunctionCounter.builder("weir.rebalances", rebalances, Rebalances::count)
        .description("rebalances of this instance, its start included")
        .register(registry);
    FunctionCounter.builder("weir.rebalancing.seconds", rebalances, Rebalances::totalSeconds)
        .description("seconds that rebalances of this instance took")
        .register(registry);
    placed("counted", () -> instances.counted().size());
    placed("copied", () -> instances.here().size() - instances.counted().size());
    placed("readable", () -> (int) IntStream.range(0, partitions).filter(table::isHere).count());
    Gauge.builder("weir.topic.partitions", () -> partitions)
        .description("partitions of the topic of calls")
        .register(registry);
  }

  private void placed(String role, Supplier<Number> count) {
    Gauge.builder("weir.partitions", count)
        .description("partitions that are counted here, copied to here, or readable here")
        .tag("role", role)
        .register(registry);
  }

  /** Returns the text format that Prometheus reads. */
  String scrape() {
    Map<Integer, Optional<PartitionProgress>> progress = new HashMap<>();
    List<PartitionAccuracy> accuracy = new ArrayList<>();
    for (int one : instances.counted()) {
      try {
        Optional<PartitionProgress> found = table.progress(one);
        table.accuracy(one).ifPresent(accuracy::add);
        progress.put(one, found);
      } catch (ProblemException elsewhere) {
        LOG.debug("partition not readable partition={}", one, elsewhere);
      }
    }
    partitionMetrics.update(progress);
    accuracyMetrics.update(accuracy);
    return registry.scrape();
  }
}
