// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.topology.RecordPlace;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.settings.Settings;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The configuration of an aggregator process.
 *
 * @param bootstrapServers the Kafka brokers ({@code WEIR_KAFKA})
 * @param dataFolder folder of the state stores ({@code WEIR_DATA}, default {@code .weir})
 * @param reportsHost address that the reports API binds ({@code WEIR_REPORTS_HOST}, 0.0.0.0)
 * @param reportsPort port of the reports API; 0 for any free one ({@code WEIR_REPORTS_PORT}, 8081)
 * @param window size of a ledger window; divides a day ({@code WEIR_WINDOW}, PT15M)
 * @param grace how far behind the watermark windows stay open ({@code WEIR_GRACE}, PT10M)
 * @param maxHold how long windows wait for a silent node ({@code WEIR_MAX_HOLD}, PT1H)
 * @param lateness how late a call may be; at most the retention of the audit log ({@code
 *     WEIR_LATENESS}, P35D)
 * @param streamThreads number of counting threads ({@code WEIR_STREAM_THREADS}, 1)
 * @param standbys number of copies of the state on other instances ({@code WEIR_STANDBYS}, 1)
 * @param instance name of this process, unique and unchanged by a restart ({@code WEIR_INSTANCE},
 *     default {@code HOSTNAME}, else {@code aggregator})
 * @param sessionTimeout how long the partitions of an instance that was killed or stopped wait for
 *     its return before other instances take them ({@code WEIR_SESSION_TIMEOUT}, PT10S)
 * @param advertisedReports host:port where other instances reach the reports API ({@code
 *     WEIR_ADVERTISED_REPORTS}, default 127.0.0.1 and the reports port)
 * @param applicationPrefix prefix of the names of consumer groups and changelog topics ({@code
 *     WEIR_APPLICATION_PREFIX}, {@code weir-})
 * @param quarantineRecords records of the calls topic that an operator has given up because they
 *     make the counting fail; each goes into the quarantine as a whole ({@code
 *     WEIR_QUARANTINE_RECORDS}, none; partition@offset, separated by commas)
 * @param singleCopy whether topics may have fewer copies than surviving the loss of a broker
 *     requires ({@code WEIR_SINGLE_COPY}, refuse)
 */
public record AggregatorConfig(
    String bootstrapServers,
    Path dataFolder,
    String reportsHost,
    int reportsPort,
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
    SingleCopy singleCopy) {

  /** Default of {@code WEIR_APPLICATION_PREFIX}. */
  public static final String DEFAULT_APPLICATION_PREFIX = "weir-";

  private static final int MAX_STREAM_THREADS = 64;
  private static final int MAX_STANDBYS = 4;
  private static final int MAX_PORT = 65_535;

  /** Least session timeout that brokers accept by default, {@code group.min.session.timeout.ms}. */
  private static final Duration MIN_SESSION_TIMEOUT = Duration.ofSeconds(6);

  private static final Duration MAX_SESSION_TIMEOUT = Duration.ofMinutes(5);

  public AggregatorConfig {
    if (bootstrapServers.isBlank()) {
      throw new Settings.InvalidSettingException(
          "WEIR_KAFKA is not set; it names Kafka's bootstrap servers, host:port");
    }
    requireRange("WEIR_REPORTS_PORT", reportsPort, 0, MAX_PORT);
    require(
        isPositive(window)
            && Duration.ofDays(1).toMillis() % Math.max(1, window.toMillis()) == 0
            && window.compareTo(Duration.ofSeconds(1)) >= 0,
        "WEIR_WINDOW",
        "must be at least PT1S and divide a day",
        window);
    require(!grace.isNegative(), "WEIR_GRACE", "must not be negative", grace);
    require(isPositive(maxHold), "WEIR_MAX_HOLD", "must be positive", maxHold);
    require(
        lateness.compareTo(window) >= 0 && lateness.compareTo(Topics.LATENESS) <= 0,
        "WEIR_LATENESS",
        "must be between WEIR_WINDOW and " + Topics.LATENESS + ", which the audit log keeps",
        lateness);
    requireRange("WEIR_STREAM_THREADS", streamThreads, 1, MAX_STREAM_THREADS);
    requireRange("WEIR_STANDBYS", standbys, 0, MAX_STANDBYS);
    require(
        BatchHeader.isNodeName(instance),
        "WEIR_INSTANCE",
        "must match [A-Za-z0-9._-]{1,64}",
        instance);
    require(
        sessionTimeout.compareTo(MIN_SESSION_TIMEOUT) >= 0
            && sessionTimeout.compareTo(MAX_SESSION_TIMEOUT) <= 0,
        "WEIR_SESSION_TIMEOUT",
        "must be between " + MIN_SESSION_TIMEOUT + " and " + MAX_SESSION_TIMEOUT,
        sessionTimeout);
    advertisedReports.ifPresent(
        address ->
            require(
                address.matches(".+:[0-9]{1,5}"),
                "WEIR_ADVERTISED_REPORTS",
                "must be host:port",
                address));
    require(
        applicationPrefix.matches("[A-Za-z0-9._-]{1,64}"),
        "WEIR_APPLICATION_PREFIX",
        "must match [A-Za-z0-9._-]{1,64}",
        applicationPrefix);
  }

  /**
   * Reads the configuration of a process.
   *
   * @param environment variables by name; an absent or empty one takes its default
   * @throws Settings.InvalidSettingException if a value is invalid; the message names the variable
   */
  public static AggregatorConfig of(Map<String, String> environment) {
    return new AggregatorConfig(
        Settings.of(environment).bootstrapServers("WEIR_KAFKA"),
        Path.of(text(environment, "WEIR_DATA", ".weir")),
        text(environment, "WEIR_REPORTS_HOST", "0.0.0.0"),
        integer(environment, "WEIR_REPORTS_PORT", 8081),
        duration(environment, "WEIR_WINDOW", Duration.ofMinutes(15)),
        duration(environment, "WEIR_GRACE", Duration.ofMinutes(10)),
        duration(environment, "WEIR_MAX_HOLD", Duration.ofHours(1)),
        duration(environment, "WEIR_LATENESS", Topics.LATENESS),
        integer(environment, "WEIR_STREAM_THREADS", 1),
        integer(environment, "WEIR_STANDBYS", 1),
        text(environment, "WEIR_INSTANCE", text(environment, "HOSTNAME", "aggregator")),
        duration(environment, "WEIR_SESSION_TIMEOUT", Duration.ofSeconds(10)),
        Optional.of(text(environment, "WEIR_ADVERTISED_REPORTS", ""))
            .filter(address -> !address.isEmpty()),
        text(environment, "WEIR_APPLICATION_PREFIX", DEFAULT_APPLICATION_PREFIX),
        places(environment, "WEIR_QUARANTINE_RECORDS"),
        Settings.of(environment).choice(SingleCopy.VARIABLE, SingleCopy.REFUSE));
  }

  /** Returns the lengths of time that the counting rules need. */
  CountSettings countSettings() {
    return new CountSettings(
        window.toMillis(), grace.toMillis(), maxHold.toMillis(), lateness.toMillis());
  }

  private static String text(Map<String, String> environment, String name, String byDefault) {
    String value = environment.get(name);
    return value == null || value.isEmpty() ? byDefault : value;
  }

  private static int integer(Map<String, String> environment, String name, int byDefault) {
    String value = text(environment, name, Integer.toString(byDefault));
    try {
      return Integer.parseInt(value);
    } catch (NumberFormatException notANumber) {
      throw new Settings.InvalidSettingException(name + " must be an integer, is '" + value + "'");
    }
  }

  private static Duration duration(
      Map<String, String> environment, String name, Duration byDefault) {
    String value = text(environment, name, byDefault.toString());
    try {
      return Duration.parse(value);
    } catch (DateTimeParseException notADuration) {
      throw new Settings.InvalidSettingException(
          name + " must be an ISO 8601 duration such as PT15M, is '" + value + "'");
    }
  }

  private static Set<RecordPlace> places(Map<String, String> environment, String name) {
    String value = text(environment, name, "");
    try {
      return RecordPlace.parseAll(value);
    } catch (IllegalArgumentException malformed) {
      throw new Settings.InvalidSettingException(
          name + " " + malformed.getMessage() + ", is '" + value + "'");
    }
  }

  private static boolean isPositive(Duration duration) {
    return !duration.isNegative() && !duration.isZero();
  }

  private static void requireRange(String name, int value, int least, int greatest) {
    require(
        least <= value && value <= greatest, name, "must be " + least + " to " + greatest, value);
  }

  private static void require(boolean kept, String name, String rule, Object value) {
    if (!kept) {
      throw new Settings.InvalidSettingException(name + " " + rule + ", is '" + value + "'");
    }
  }
}
