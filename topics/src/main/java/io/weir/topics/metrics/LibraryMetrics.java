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
 * The metrics of libraries in the registry of a process. This class registers those of the JVM.
 * Code that opens a Kafka client registers those of Kafka, and this class keeps a selection of
 * them. The clients and Kafka Streams offer thousands of metrics, most of them by broker, topic,
 * task or store.
 */
public final class LibraryMetrics implements AutoCloseable {
  private static final String KAFKA = "kafka.";

  /** The metrics of Kafka that are kept, by their Micrometer names without the prefix. */
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
   * Metrics of other libraries that have no meaning here. Redis replies to a script in one piece.
   * Only an unused connector of Jetty counts the bytes of a connection. The metric named as the
   * time of a request measures that of a connection.
   */
  private static final Set<String> LEFT_OUT =
      Set.of(
          "lettuce.command.firstresponse",
          "jetty.connections.bytes.in",
          "jetty.connections.bytes.out",
          "jetty.connections.request");

  private final JvmGcMetrics collections = new JvmGcMetrics();

  /**
   * Registers the metrics of the JVM, and the selection of the others.
   *
   * @param registry must not have any metrics of libraries yet
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
   * Returns whether a metric duplicates another one, with underscores instead of dots in the
   * topic's name. Consumers do this until Kafka 5 (KIP-1109).
   */
  private static boolean isRepeated(Meter.Id id) {
    String topic = id.getTag("topic");
    return topic != null && topic.startsWith("weir_");
  }

  /** Stops listening to the garbage collector. */
  @Override
  public void close() {
    collections.close();
  }
}
