// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.access.Access;
import io.weir.access.Tls;
import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.ranking.Rankings;
import io.weir.aggregator.report.Instances;
import io.weir.aggregator.report.LiveCache;
import io.weir.aggregator.report.ProgressSignal;
import io.weir.aggregator.report.ReportServer;
import io.weir.aggregator.report.ReportSettings;
import io.weir.aggregator.table.TableException;
import io.weir.aggregator.table.TableFollower;
import io.weir.aggregator.table.TableObserver;
import io.weir.aggregator.table.TableStore;
import io.weir.aggregator.topology.CountClients;
import io.weir.aggregator.topology.MeterTopology;
import io.weir.aggregator.topology.Rebalances;
import io.weir.aggregator.topology.StoppedPartitions;
import io.weir.aggregator.topology.StreamsSettings;
import io.weir.aggregator.topology.WrittenRows;
import io.weir.limits.ZoneData;
import io.weir.topics.metrics.LibraryMetrics;
import io.weir.topics.process.ResourceStack;
import java.io.IOException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.state.HostInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running aggregator. An aggregator consists of the Streams application that counts calls, the
 * table of the newest usage figures, and the reports API. Thread-safe.
 *
 * <p>An aggregator that restarts with the same {@code WEIR_INSTANCE} gets its partitions back
 * without a rebalance.
 */
public final class Aggregator implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Aggregator.class);

  /**
   * Maximum time to wait until the Streams application has stopped. After a forced stop, Kafka
   * transactions keep the counts correct.
   */
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  /** Maximum time that the start waits until the table on the local disk is readable. */
  private static final Duration TABLE_TIMEOUT = Duration.ofSeconds(10);

  /** Maximum time that a request waits until the reports include its {@code Usage-Position}. */
  private static final Duration POSITION_WAIT = Duration.ofSeconds(5);

  private final KafkaStreams meterCore;
  private final StreamsFailures failures;
  private final Rebalances rebalances;
  private final Instances instances;
  private final TableFollower follower;
  private final ReportServer reports;
  private final ResourceStack resources;

  private Aggregator(
      KafkaStreams meterCore,
      StreamsFailures failures,
      Rebalances rebalances,
      Instances instances,
      TableFollower follower,
      ReportServer reports,
      ResourceStack resources) {
    this.meterCore = meterCore;
    this.failures = failures;
    this.rebalances = rebalances;
    this.instances = instances;
    this.follower = follower;
    this.reports = reports;
    this.resources = resources;
  }

  /**
   * Starts an aggregator. This method returns before the aggregator is {@link #ready}.
   *
   * @throws AggregatorStartException if Kafka does not answer, or a topic is configured wrongly.
   *     Also thrown if the reports port is in use, or if another process uses the data folder or
   *     the name
   */
  public static Aggregator start(AggregatorConfig config) throws AggregatorStartException {
    return start(config, LiveCache.NOT_ASKED);
  }

  /**
   * Starts an aggregator whose reports also show the contents of a decision cache.
   *
   * @param cache the decision cache; the caller must close it after the aggregator
   * @throws AggregatorStartException as in {@link #start(AggregatorConfig)}
   */
  public static Aggregator start(AggregatorConfig config, LiveCache cache)
      throws AggregatorStartException {
    ResourceStack resources = new ResourceStack();
    try {
      return start(config, cache, resources);
    } catch (TableException | StreamsException refused) {
      closeAll(resources);
      throw new AggregatorStartException(String.valueOf(refused.getMessage()), refused);
    } catch (AggregatorStartException | RuntimeException refused) {
      closeAll(resources);
      throw refused;
    }
  }

  private static Aggregator start(AggregatorConfig config, LiveCache cache, ResourceStack resources)
      throws AggregatorStartException {
    TopicCheck.Found topics = TopicCheck.check(config);
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    resources.push(registry::close);
    resources.push(new LibraryMetrics(registry));
    TableStore store =
        resources.push(
            TableStore.open(config.dataFolder().resolve("usage"), topics.stateTopicId()));
    StreamsSettings settings =
        new StreamsSettings(
            config.kafka(),
            config.applicationPrefix(),
            config.dataFolder().resolve("streams"),
            config.instance(),
            config.sessionTimeout(),
            store.id(),
            config.streamThreads(),
            config.standbys(),
            config.singleCopy());
    NameCheck.requireUnique(settings);
    ReportServer reports = resources.push(listen(config, Clock.systemUTC(), registry));
    String self = config.advertisedReports().orElse("127.0.0.1:" + reports.port());
    WrittenRows written = new WrittenRows(registry);
    StoppedPartitions stopped = new StoppedPartitions(config.quarantineRecords());
    Properties meter = settings.meterCore(self);
    KafkaStreams meterCore =
        new KafkaStreams(
            new MeterTopology(meter, config.countSettings(), topics.partitions(), written, stopped)
                .get(),
            meter,
            new CountClients(stopped));
    Instances instances = new Instances(meterCore, HostInfo.buildFromEndpoint(self));
    Rebalances rebalances =
        new Rebalances(
            () -> "counted=" + instances.counted() + " here=" + instances.here(), registry);
    meterCore.setStateListener(rebalances);
    StreamsFailures failures = new StreamsFailures("meter-core", () -> NameCheck.isTaken(settings));
    meterCore.setUncaughtExceptionHandler(failures);
    ProgressSignal signal = new ProgressSignal();
    Optional<Rankings> rankings = rankings(config, store, registry);
    // the reports API uses the follower until it is closed
    TableFollower follower =
        resources.pushBelow(
            reports,
            TableFollower.start(
                store,
                config.kafka(),
                instances::here,
                signal::signal,
                rankings.<TableObserver>map(observer -> observer).orElse(TableObserver.NONE),
                topics.tombstonesKept(),
                registry));
    resources.push(() -> meterCore.close(CloseOptions.timeout(CLOSE_TIMEOUT)));
    resources.push(new KafkaStreamsMetrics(meterCore)).bindTo(registry);
    meterCore.start();
    awaitTable(follower, signal);
    reports.serve(
        new ReportServer.Sources(
            meterCore, rebalances, instances, stopped, store, follower, rankings, signal, cache),
        new ReportSettings(
            config.kafka(),
            topics.partitions(),
            config.window(),
            config.lateness(),
            POSITION_WAIT,
            config.rankedWindows()));
    LOG.info("aggregator started instance={} reports={}", config.instance(), self);
    ZoneData.warning(ZoneData.version(), Instant.now()).ifPresent(LOG::warn);
    return new Aggregator(meterCore, failures, rebalances, instances, follower, reports, resources);
  }

  private static Optional<Rankings> rankings(
      AggregatorConfig config, TableStore store, PrometheusMeterRegistry registry) {
    if (config.rankedWindows() == 0) {
      return Optional.empty();
    }
    Rankings rankings =
        new Rankings(
            store,
            config.window(),
            config.rankedWindows(),
            Duration.ofMillis(CountSettings.MAX_AHEAD_MILLIS));
    rankings.register(registry);
    return Optional.of(rankings);
  }

  private static ReportServer listen(
      AggregatorConfig config, Clock clock, PrometheusMeterRegistry registry)
      throws AggregatorStartException {
    try {
      return ReportServer.bind(
          config.reportsHost(),
          config.reportsPort(),
          config.maxConnections(),
          clock,
          registry,
          Access.open(config.access()),
          config.access().tls() == null ? null : Tls.open(config.access().tls()));
    } catch (IOException | RuntimeException taken) {
      throw new AggregatorStartException(
          "the reports API cannot listen on "
              + config.reportsHost()
              + " (WEIR_REPORTS_HOST), port "
              + config.reportsPort()
              + " (WEIR_REPORTS_PORT): "
              + taken.getMessage(),
          taken);
    }
  }

  /**
   * Waits until the table on the local disk is readable. So a restarted aggregator answers its
   * first request from its own table. Logs a warning if the table is not readable in time.
   */
  private static void awaitTable(TableFollower follower, ProgressSignal signal)
      throws AggregatorStartException {
    try {
      if (!signal.await(follower::hasReadAllHeld, TABLE_TIMEOUT)) {
        LOG.warn(
            "this instance is still reading the usage table; other instances answer report requests until then");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new AggregatorStartException("interrupted while reading the usage table", interrupted);
    }
  }

  /** Returns the port on which the reports API listens. */
  public int reportsPort() {
    return reports.port();
  }

  /** Returns whether this instance counts all its partitions and can report their usage. */
  public boolean ready() {
    return rebalances.isRunning() && follower.readable().containsAll(instances.here());
  }

  /**
   * Returns whether the Streams application or the follower of the table has stopped permanently.
   * The cause is a broken invariant, a dependency that failed too often, or another process with
   * the same name. The process should then exit, so that its supervisor restarts it.
   */
  public boolean failed() {
    return follower.hasFailed() || meterCore.state().hasStartedOrFinishedShuttingDown();
  }

  /**
   * Returns the reason for which the aggregator has {@linkplain #failed failed}. Returns an empty
   * text if the aggregator has not failed.
   */
  public String failure() {
    return failed() ? failures.reason() : "";
  }

  /**
   * Stops the aggregator in this order: the readiness check fails, the Streams application stops,
   * the reports API closes.
   */
  @Override
  public void close() {
    reports.drain();
    closeAll(resources);
  }

  private static void closeAll(ResourceStack resources) {
    resources.closeAll(failed -> LOG.error("failed to close a component", failed));
  }
}
