// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.metrics;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.config.MeterFilter;
import java.util.Set;

/**
 * The metrics of libraries in the registry of a process. This class registers the metrics of the
 * JVM, and filters the metrics of other libraries. Kafka's clients and Kafka Streams offer
 * thousands of metrics, most of them per broker, topic, task or store. The filter keeps only a
 * selection of these metrics.
 */
public final class LibraryMetrics implements AutoCloseable {
  private static final String KAFKA = "kafka.";

  /** The Kafka metrics that the filter keeps, by their Micrometer names without the prefix. */
  private static final Set<String> KEPT =
      Set.of(
          "producer.batch.size.avg",
          "producer.buffer.available.bytes",
          "producer.connection.count",
          "producer.produce.throttle.time.avg",
          "producer.record.error.total",
          "producer.record.queue.time.avg",
          "producer.record.retry.total",
          "producer.record.send.rate",
          "producer.record.send.total",
          "producer.request.latency.avg",
          "producer.request.latency.max",
          "producer.requests.in.flight",
          "consumer.connection.count",
          "consumer.coordinator.assigned.partitions",
          "consumer.coordinator.commit.latency.avg",
          "consumer.coordinator.failed.rebalance.total",
          "consumer.coordinator.rebalance.total",
          "consumer.fetch.manager.fetch.latency.avg",
          "consumer.fetch.manager.records.consumed.total",
          "consumer.fetch.manager.records.lag.max",
          "consumer.last.poll.seconds.ago",
          "consumer.poll.idle.ratio.avg",
          "consumer.time.between.poll.max",
          "stream.alive.stream.threads",
          "stream.failed.stream.threads",
          "stream.thread.commit.latency.avg",
          "stream.thread.commit.latency.max",
          "stream.thread.commit.ratio",
          "stream.thread.poll.ratio",
          "stream.thread.process.latency.avg",
          "stream.thread.process.ratio",
          "stream.thread.process.total",
          "stream.thread.punctuate.ratio",
          "stream.state.background.errors",
          "stream.state.estimate.pending.compaction.bytes",
          "stream.state.total.sst.files.size");

  /**
   * Metrics of other libraries that the filter drops because their values are misleading. Redis
   * sends the reply of a script at once, so the time of the first response equals the time of the
   * reply. Jetty counts the bytes of connections only in a connector that Weir does not use.
   * Jetty's metric of request times measures the time of a connection.
   */
  private static final Set<String> LEFT_OUT =
      Set.of(
          "lettuce.command.firstresponse",
          "jetty.connections.bytes.in",
          "jetty.connections.bytes.out",
          "jetty.connections.request");

  private final JvmGcMetrics collections = new JvmGcMetrics();

  /**
   * Registers the metrics of the JVM, and installs the filter for the metrics of other libraries.
   *
   * @param registry the registry, without metrics of libraries
   */
  public LibraryMetrics(MeterRegistry registry) {
    registry.config().meterFilter(MeterFilter.deny(LibraryMetrics::isLeftOut));
    new JvmMemoryMetrics().bindTo(registry);
    collections.bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ClassLoaderMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
  }

  private static boolean isLeftOut(Meter.Id id) {
    String name = id.getName();
    return name.startsWith(KAFKA)
        ? !KEPT.contains(name.substring(KAFKA.length())) || isRepeated(id)
        : LEFT_OUT.contains(name);
  }

  /**
   * Returns whether a metric is a duplicate with underscores instead of dots in the topic's name.
   * Consumers register such duplicates until Kafka 5 (KIP-1109).
   */
  private static boolean isRepeated(Meter.Id id) {
    String topic = id.getTag("topic");
    return topic != null && topic.startsWith("weir_");
  }

  /** Removes the listeners of the garbage collector. */
  @Override
  public void close() {
    collections.close();
  }
}
