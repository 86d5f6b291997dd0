// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.aggregator.report.ProgressSignal;
import io.weir.aggregator.report.ReportServer;
import io.weir.aggregator.report.ReportSettings;
import io.weir.aggregator.topology.MeterTopology;
import io.weir.aggregator.topology.StreamsSettings;
import io.weir.aggregator.topology.UsageViewTopology;
import io.weir.aggregator.topology.WrittenRows;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.state.HostInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running aggregator: both Streams applications and the reports API. Safe for threads.
 *
 * <p>Closing it gives the partitions back without a rebalance when it is started again under the
 * same name.
 */
public final class Aggregator implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Aggregator.class);

  /** How long a clean stop may take before it is left to the transactions to be right anyway. */
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  /** How long a request may wait for a position. */
  private static final Duration POSITION_WAIT = Duration.ofSeconds(5);

  private final KafkaStreams meterCore;
  private final KafkaStreams usageView;
  private final ReportServer reports;

  private Aggregator(KafkaStreams meterCore, KafkaStreams usageView, ReportServer reports) {
    this.meterCore = meterCore;
    this.usageView = usageView;
    this.reports = reports;
  }

  /**
   * Starts one; returns before it is {@link #ready}.
   *
   * @throws AggregatorStartException when Kafka does not answer, the topics are not as they must
   *     be, or the reports port is taken
   */
  public static Aggregator start(AggregatorConfig config) throws AggregatorStartException {
    int partitions = TopicCheck.partitions(config.bootstrapServers());
    Clock clock = Clock.systemUTC();
    ReportServer reports = listen(config, clock);
    String self = config.advertisedReports().orElse("127.0.0.1:" + reports.port());
    StreamsSettings settings =
        new StreamsSettings(
            config.bootstrapServers(),
            config.applicationPrefix(),
            config.dataFolder().resolve("streams"),
            config.instance(),
            config.streamThreads(),
            config.standbys(),
            self);
    Properties meter = settings.meterCore();
    Properties view = settings.usageView();
    WrittenRows written = new WrittenRows();
    ProgressSignal signal = new ProgressSignal();
    KafkaStreams meterCore =
        streams(
            "meter-core",
            new MeterTopology(meter, config.countSettings(), partitions, written).get(),
            meter);
    KafkaStreams usageView =
        streams("usage-view", new UsageViewTopology(view, signal::signal).get(), view);
    meterCore.start();
    usageView.start();
    reports.serve(
        meterCore,
        usageView,
        HostInfo.buildFromEndpoint(self),
        signal,
        new ReportSettings(
            config.bootstrapServers(),
            partitions,
            config.window(),
            config.lateness(),
            POSITION_WAIT),
        written);
    LOG.info("aggregator started instance={} reports={}", config.instance(), self);
    return new Aggregator(meterCore, usageView, reports);
  }

  private static ReportServer listen(AggregatorConfig config, Clock clock)
      throws AggregatorStartException {
    try {
      return ReportServer.start(config.reportsHost(), config.reportsPort(), clock);
    } catch (RuntimeException taken) {
      throw new AggregatorStartException(
          "the reports port "
              + config.reportsPort()
              + " (WEIR_REPORTS_PORT) cannot be listened on: "
              + taken.getMessage(),
          taken);
    }
  }

  private static KafkaStreams streams(String name, Topology topology, Properties properties) {
    KafkaStreams streams = new KafkaStreams(topology, properties);
    streams.setUncaughtExceptionHandler(new StreamsFailures(name));
    return streams;
  }

  /** The port the reports API listens on. */
  public int reportsPort() {
    return reports.port();
  }

  /** Whether both applications run. */
  public boolean ready() {
    return meterCore.state() == KafkaStreams.State.RUNNING
        && usageView.state() == KafkaStreams.State.RUNNING;
  }

  /**
   * Whether an application has stopped for good, because an invariant was broken or a dependency
   * failed too often. The process is of no use any more and should end, for its supervisor to see.
   */
  public boolean failed() {
    return hasStopped(meterCore) || hasStopped(usageView);
  }

  private static boolean hasStopped(KafkaStreams streams) {
    return switch (streams.state()) {
      case CREATED, REBALANCING, RUNNING -> false;
      case PENDING_SHUTDOWN, NOT_RUNNING, PENDING_ERROR, ERROR -> true;
    };
  }

  @Override
  public void close() {
    reports.close();
    List.of(meterCore, usageView).parallelStream()
        .forEach(streams -> streams.close(CloseOptions.timeout(CLOSE_TIMEOUT)));
  }
}
