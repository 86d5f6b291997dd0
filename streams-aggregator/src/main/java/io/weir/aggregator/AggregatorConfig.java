// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.access.AccessSettings;
import io.weir.access.port.ConnectionLimit;
import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.topology.RecordPlace;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.settings.Settings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The configuration of an aggregator process.
 *
 * @param kafka connection to Kafka ({@code WEIR_KAFKA})
 * @param access access control and TLS of the reports API
 * @param dataFolder folder of the state stores ({@code WEIR_DATA}, default {@code .weir})
 * @param reportsHost address on which the reports API listens ({@code WEIR_REPORTS_HOST}, 0.0.0.0)
 * @param reportsPort port of the reports API; 0 selects a free port ({@code WEIR_REPORTS_PORT},
 *     8081)
 * @param maxConnections maximum number of open connections to the reports API ({@code
 *     WEIR_MAX_CONNECTIONS}, 10000; 1 to 1,000,000)
 * @param window length of a ledger window; must divide a day evenly ({@code WEIR_WINDOW}, PT15M)
 * @param grace time for which a window stays open after the watermark has passed the window's end
 *     ({@code WEIR_GRACE}, PT10M)
 * @param maxHold maximum time that windows wait for a silent node ({@code WEIR_MAX_HOLD}, PT1H)
 * @param lateness maximum age of a call that is still counted; at most the retention of the calls
 *     topic ({@code WEIR_LATENESS}, P35D)
 * @param streamThreads number of counting threads ({@code WEIR_STREAM_THREADS}, 1)
 * @param standbys number of other instances that keep a copy of the state ({@code WEIR_STANDBYS},
 *     1)
 * @param instance name of this process, unique and unchanged by a restart ({@code WEIR_INSTANCE},
 *     default {@code HOSTNAME}, else {@code aggregator})
 * @param sessionTimeout time after which other instances take the partitions of a stopped instance
 *     ({@code WEIR_SESSION_TIMEOUT}, PT10S)
 * @param advertisedReports host:port where other instances reach the reports API ({@code
 *     WEIR_ADVERTISED_REPORTS}, default 127.0.0.1 and the reports port)
 * @param applicationPrefix prefix of the names of consumer groups and changelog topics ({@code
 *     WEIR_APPLICATION_PREFIX}, {@code weir-})
 * @param quarantineRecords records of the calls topic that make the aggregator fail, and that it
 *     moves to the quarantine ({@code WEIR_QUARANTINE_RECORDS}, none). The format is
 *     partition@offset, separated by commas
 * @param maxEndpoints maximum number of endpoints with their own ledger rows, for each client,
 *     meter and window ({@code WEIR_MAX_ENDPOINTS}, 1000; 1 to 100,000)
 * @param rankedWindows number of windows, including the current window, for which the aggregator
 *     ranks the heaviest clients and endpoints ({@code WEIR_RANKED_WINDOWS}, 12; 0 to 400)
 * @param singleCopy whether topics may have fewer replicas than are needed to survive the loss of a
 *     broker ({@code WEIR_SINGLE_COPY}, refuse)
 */
public record AggregatorConfig(
    KafkaConnection kafka,
    AccessSettings access,
    Path dataFolder,
    String reportsHost,
    int reportsPort,
    int maxConnections,
    Duration window,
    Duration grace,
    Duration maxHold,
    Duration lateness,
    int streamThreads,
    int standbys,
    String instance,
    Duration sessionTimeout,
    Optional<String> advertisedReports,
    String applicationPrefix,
    Set<RecordPlace> quarantineRecords,
    int maxEndpoints,
    int rankedWindows,
    SingleCopy singleCopy) {

  /** Default of {@code WEIR_APPLICATION_PREFIX}. */
  public static final String DEFAULT_APPLICATION_PREFIX = "weir-";

  private static final int MAX_STREAM_THREADS = 64;
  private static final int MAX_STANDBYS = 4;

  /**
   * Maximum value of {@code WEIR_MAX_ENDPOINTS}. To count endpoints, the aggregator reads all rows
   * of a client, meter and window. The setting limits the number of these rows.
   */
  private static final int MAX_ENDPOINTS = 100_000;

  /**
   * Maximum value of {@code WEIR_RANKED_WINDOWS}. The setting limits the memory of the rankings and
   * the work of one request.
   */
  private static final int MAX_RANKED_WINDOWS = 400;

  /** Maximum value of {@code WEIR_GRACE} and {@code WEIR_MAX_HOLD}: 100 years. */
  private static final Duration LONGEST = Duration.ofDays(36_500);

  /**
   * Minimum session timeout that brokers accept by default ({@code group.min.session.timeout.ms}).
   */
  private static final Duration MIN_SESSION_TIMEOUT = Duration.ofSeconds(6);

  private static final Duration MAX_SESSION_TIMEOUT = Duration.ofMinutes(5);

  /**
   * Reads the configuration from environment variables.
   *
   * @param environment values by variable name; an absent or empty variable has its default value
   * @throws Settings.InvalidSettingException if a value is invalid; the message names the variable
   */
  public static AggregatorConfig of(Map<String, String> environment) {
    Settings settings = Settings.of(environment);
    Duration window = window(settings);
    AccessSettings access = AccessSettings.of(settings);
    return new AggregatorConfig(
        KafkaConnection.of(settings),
        access,
        Path.of(settings.text("WEIR_DATA", ".weir")),
        access.host(settings, "WEIR_REPORTS_HOST"),
        settings.port("WEIR_REPORTS_PORT", 8081),
        (int)
            settings.integer(
                "WEIR_MAX_CONNECTIONS",
                ConnectionLimit.DEFAULT_MAX_CONNECTIONS,
                1,
                ConnectionLimit.MOST_CONNECTIONS),
        window,
        settings.duration("WEIR_GRACE", Duration.ofMinutes(10), Duration.ZERO, LONGEST),
        settings.duration("WEIR_MAX_HOLD", Duration.ofHours(1), Duration.ofMillis(1), LONGEST),
        settings.duration("WEIR_LATENESS", Topics.LATENESS, window, Topics.LATENESS),
        (int) settings.integer("WEIR_STREAM_THREADS", 1, 1, MAX_STREAM_THREADS),
        (int) settings.integer("WEIR_STANDBYS", 1, 0, MAX_STANDBYS),
        name(settings, "WEIR_INSTANCE", settings.text("HOSTNAME", "aggregator")),
        settings.duration(
            "WEIR_SESSION_TIMEOUT",
            Duration.ofSeconds(10),
            MIN_SESSION_TIMEOUT,
            MAX_SESSION_TIMEOUT),
        advertised(settings),
        name(settings, "WEIR_APPLICATION_PREFIX", DEFAULT_APPLICATION_PREFIX),
        places(settings),
        (int)
            settings.integer(
                "WEIR_MAX_ENDPOINTS", CountSettings.DEFAULT_MAX_ENDPOINTS, 1, MAX_ENDPOINTS),
        (int) settings.integer("WEIR_RANKED_WINDOWS", 12, 0, MAX_RANKED_WINDOWS),
        settings.choice(SingleCopy.VARIABLE, SingleCopy.REFUSE));
  }

  private static Duration window(Settings settings) {
    Duration day = Duration.ofDays(1);
    Duration window =
        settings.duration("WEIR_WINDOW", Duration.ofMinutes(15), Duration.ofSeconds(1), day);
    require(
        day.toMillis() % window.toMillis() == 0,
        "WEIR_WINDOW",
        "must divide a day into windows of equal length",
        window);
    return window;
  }

  private static String name(Settings settings, String variable, String absent) {
    String name = settings.text(variable, absent);
    require(BatchHeader.isNodeName(name), variable, "must match [A-Za-z0-9._-]{1,64}", name);
    return name;
  }

  private static Optional<String> advertised(Settings settings) {
    String variable = "WEIR_ADVERTISED_REPORTS";
    String address = settings.text(variable, "");
    require(
        address.isEmpty() || address.matches(".+:[0-9]{1,5}"),
        variable,
        "must be host:port, such as 10.0.0.7:8081",
        address);
    return Optional.of(address).filter(given -> !given.isEmpty());
  }

  private static Set<RecordPlace> places(Settings settings) {
    String variable = "WEIR_QUARANTINE_RECORDS";
    String value = settings.text(variable, "");
    try {
      return RecordPlace.parseAll(value);
    } catch (IllegalArgumentException malformed) {
      throw new Settings.InvalidSettingException(
          variable + " " + malformed.getMessage() + ", but is '" + value + "'");
    }
  }

  private static void require(boolean kept, String name, String rule, Object value) {
    if (!kept) {
      throw new Settings.InvalidSettingException(name + " " + rule + ", but is '" + value + "'");
    }
  }

  /** Returns the settings of the package {@code count}. */
  CountSettings countSettings() {
    return new CountSettings(
        window.toMillis(), grace.toMillis(), maxHold.toMillis(), lateness.toMillis(), maxEndpoints);
  }
}
