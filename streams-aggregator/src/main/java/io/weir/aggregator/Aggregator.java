// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.aggregator.topology.MeterTopology;
import io.weir.aggregator.topology.StreamsSettings;
import io.weir.aggregator.topology.UsageViewTopology;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;

/**
 * A running aggregator: both Streams applications and the reports API. Safe for threads.
 *
 * <p>Closing it gives the partitions back without a rebalance when it is started again under the
 * same name.
 */
public final class Aggregator implements AutoCloseable {
  /** How long a clean stop may take before it is left to the transactions to be right anyway. */
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final KafkaStreams meterCore;
  private final KafkaStreams usageView;

  private Aggregator(KafkaStreams meterCore, KafkaStreams usageView) {
    this.meterCore = meterCore;
    this.usageView = usageView;
  }

  /**
   * Starts one; returns before it is {@link #ready}.
   *
   * @throws AggregatorStartException when Kafka does not answer or the topics are not as they must
   *     be
   */
  public static Aggregator start(AggregatorConfig config) throws AggregatorStartException {
    int partitions = TopicCheck.partitions(config.bootstrapServers());
    StreamsSettings settings =
        new StreamsSettings(
            config.bootstrapServers(),
            config.applicationPrefix(),
            config.dataFolder().resolve("streams"),
            config.instance(),
            config.streamThreads(),
            config.standbys(),
            config.advertisedReports().orElse("127.0.0.1:" + config.reportsPort()));
    Properties meter = settings.meterCore();
    Properties view = settings.usageView();
    KafkaStreams meterCore =
        streams(
            "meter-core",
            new MeterTopology(meter, config.countSettings(), partitions).get(),
            meter);
    KafkaStreams usageView =
        streams("usage-view", new UsageViewTopology(view, () -> {}).get(), view);
    meterCore.start();
    usageView.start();
    return new Aggregator(meterCore, usageView);
  }

  private static KafkaStreams streams(String name, Topology topology, Properties properties) {
    KafkaStreams streams = new KafkaStreams(topology, properties);
    streams.setUncaughtExceptionHandler(new StreamsFailures(name));
    return streams;
  }

  /** Whether both applications run. */
  public boolean ready() {
    return meterCore.state() == KafkaStreams.State.RUNNING
        && usageView.state() == KafkaStreams.State.RUNNING;
  }

  @Override
  public void close() {
    List.of(meterCore, usageView).parallelStream()
        .forEach(streams -> streams.close(CloseOptions.timeout(CLOSE_TIMEOUT)));
  }
}
