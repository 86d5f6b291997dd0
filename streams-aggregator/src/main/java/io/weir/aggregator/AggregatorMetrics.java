// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.topics.metrics.LibraryMetrics;
import org.apache.kafka.streams.KafkaStreams;

/**
 * The registry of an aggregator's metrics. It contains metrics of the JVM and of Kafka Streams, and
 * each component registers its own metrics. Thread-safe.
 */
final class AggregatorMetrics implements AutoCloseable {
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final LibraryMetrics libraries = new LibraryMetrics(registry);

  /**
   * Registers the metrics of a Streams application and of its Kafka clients.
   *
   * @return the binding, which must be closed before the application
   */
  AutoCloseable bind(KafkaStreams streams) {
    KafkaStreamsMetrics metrics = new KafkaStreamsMetrics(streams);
    metrics.bindTo(registry);
    return metrics;
  }

  /** Returns the registry in which components register their metrics. */
  PrometheusMeterRegistry registry() {
    return registry;
  }

  @Override
  public void close() {
    libraries.close();
    registry.close();
  }
}
