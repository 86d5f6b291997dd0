// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.access.WatchedFile;
import io.weir.aggregator.topology.BoundedRocksMemory;
import io.weir.aggregator.topology.StoppedPartitions;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The metrics of {@code /metrics}. The aggregator that counts a partition exposes the metrics of
 * the partition. Thread-safe.
 */
final class ReportMetrics {
  private static final Logger LOG = LoggerFactory.getLogger(ReportMetrics.class);

  private final PrometheusMeterRegistry registry;
  private final AccuracyMetrics accuracyMetrics;
  private final PartitionMetrics partitionMetrics;
  private final UsageTable table;
  private final Instances instances;

  ReportMetrics(
      PrometheusMeterRegistry registry,
      UsageTable table,
      Instances instances,
      int partitions,
      Clock clock,
      StoppedPartitions stopped) {
    this.registry = registry;
    this.table = table;
    this.instances = instances;
    this.accuracyMetrics = new AccuracyMetrics(registry);
    this.partitionMetrics = new PartitionMetrics(registry, clock);
    placed("counted", () -> instances.counted().size());
    placed("copied", () -> instances.here().size() - instances.counted().size());
    placed("readable", () -> (int) IntStream.range(0, partitions).filter(table::isHere).count());
    Gauge.builder("weir.files.refused", WatchedFile::countRefused)
        .description("files of tokens, keys and certificates that cannot be read or are invalid")
        .register(registry);
    Gauge.builder("weir.topic.partitions", () -> partitions)
        .description("partitions of the calls topic")
        .register(registry);
    Gauge.builder("weir.stopped.partitions", stopped, all -> all.all().size())
        .description("partitions that have stopped because a record makes the aggregator fail")
        .register(registry);
    Gauge.builder("weir.rocksdb.used.bytes", BoundedRocksMemory::usedBytes)
        .description("bytes of memory used by all RocksDB stores")
        .register(registry);
    Gauge.builder("weir.rocksdb.max.bytes", () -> BoundedRocksMemory.MAX_BYTES)
        .description("bytes of memory that all RocksDB stores may use")
        .register(registry);
  }

  private void placed(String role, Supplier<Number> count) {
    Gauge.builder("weir.partitions", count)
        .description("partitions that this instance counts, copies, or can read")
        .tag("role", role)
        .register(registry);
  }

  /** Returns all metrics in the text format of Prometheus. */
  String scrape() {
    Map<Integer, Optional<PartitionProgress>> progress = new HashMap<>();
    List<PartitionAccuracy> accuracy = new ArrayList<>();
    for (int one : instances.counted()) {
      try {
        Optional<PartitionProgress> found = table.progress(one);
        table.accuracy(one).ifPresent(accuracy::add);
        progress.put(one, found);
      } catch (ProblemException elsewhere) {
        LOG.debug("cannot read partition={}", one, elsewhere);
      }
    }
    partitionMetrics.update(progress);
    accuracyMetrics.update(accuracy);
    return registry.scrape();
  }
}
