// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.topics.metrics.LibraryMetrics;
import org.apache.kafka.streams.KafkaStreams;

/**
 * The registry of an aggregator's metrics, with those of the JVM and of Kafka Streams. Each part
 * declares its own metrics in the registry. Thread-safe.
 */
final class AggregatorMetrics implements AutoCloseable {
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final LibraryMetrics libraries = new LibraryMetrics(registry);

  /**
   * Registers the metrics of an application, and of the Kafka clients in it.
   *
   * @return closes the binding; must be called before the application is closed
   */
  AutoCloseable bind(KafkaStreams streams) {
    KafkaStreamsMetrics metrics = new KafkaStreamsMetrics(streams);
    metrics.bindTo(registry);
    return metrics;
  }

  /** Returns the registry in which the parts of the aggregator declare their metrics. */
  PrometheusMeterRegistry registry() {
    return registry;
  }

  @Override
  public void close() {
    libraries.close();
    registry.close();
  }
}
