// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.CallEvent;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A validated request for a usage report.
 *
 * @param client the client
 * @param meter the meter
 * @param from start of the interval, inclusive. The start is rounded down to a ledger window. For
 *     billing periods the start is rounded down to a millisecond, because a billing period may
 *     begin inside a window
 * @param to end of the interval, exclusive. The end is rounded up to a window or millisecond
 * @param window value of the parameter {@code window}
 * @param buckets the division of time into buckets
 * @param zone time zone of the buckets' boundaries
 * @param byEndpoint whether rows are divided by endpoint
 * @param finalOnly whether the report omits buckets that are not final
 * @param fillZero whether the report includes buckets without calls
 * @param limit maximum number of rows in the response
 * @param page cursor of the page; null for the first page
 */
record UsageQuery(
    String client,
    String meter,
    Instant from,
    Instant to,
    String window,
    Buckets buckets,
    ZoneId zone,
    boolean byEndpoint,
    boolean finalOnly,
    boolean fillZero,
    int limit,
    @Nullable PageCursor page) {

  static final Set<String> PARAMETERS =
      Set.of(
          "client",
          "meter",
          "from",
          "to",
          "window",
          "tz",
          "group_by",
          "status",
          "fill",
          "limit",
          "page");

  private static final int DEFAULT_LIMIT = 1_000;
  private static final int MAX_LIMIT = 10_000;

  /**
   * Maximum length of a report. This maximum is greater than the retention of the audit log, and
   * greater than a year.
   */
  private static final Duration MAX_LENGTH = Duration.ofDays(400);

  /**
   * Validates the parameters of a request.
   *
   * @param given the values by name
   * @param atom length of a ledger window
   * @throws ProblemException if a parameter is invalid; the problem names the parameter
   */
  static UsageQuery of(Map<String, List<String>> given, Duration atom, Instant now) {
    Parameters parameters = new Parameters(given).onlyKnown(PARAMETERS);
    String client = parameters.name("client", "");
    String meter = parameters.name("meter", CallEvent.DEFAULT_METER);
    ZoneId zone = zone(parameters.one("tz", "UTC"));
    PageCursor page = parameters.page(PageCursor::parse);
    String window = parameters.one("window", atom.toString());
    Buckets buckets = buckets(window, atom);
    boolean byBilling = buckets instanceof Buckets.BillingPeriods;
    Duration unit = byBilling ? Duration.ofMillis(1) : atom;
    // for billing periods the default is now, because the day may have begun in the previous period
    Instant defaultFrom =
        byBilling
            ? Parameters.floor(now, unit)
            : now.atZone(zone).toLocalDate().atStartOfDay(zone).toInstant();
    Instant defaultTo = byBilling ? defaultFrom.plus(unit) : now;
    Instant from = parameters.moment("from", defaultFrom, zone);
    Instant to = page == null ? parameters.moment("to", defaultTo, zone) : page.to();
    Instant first = page == null ? Parameters.floor(from, unit) : page.from();
    Instant behind = Parameters.ceil(to, unit);
    if (page == null && !given.containsKey("from") && !given.containsKey("window")) {
      first = later(first, behind.minus(atom.multipliedBy(Buckets.MAX_BUCKETS)));
    }
    Parameters.requireInterval(first, behind, MAX_LENGTH);
    boolean fillZero = choice(parameters, "fill", "none", "zero");
    if (fillZero && byBilling) {
      throw Parameters.bad(
          "fill",
          "must be none with window=billing-period, because periods without usage are not recorded");
    }
    return new UsageQuery(
        client,
        meter,
        first,
        behind,
        window,
        buckets,
        zone,
        choice(parameters, "group_by", "", "endpoint"),
        choice(parameters, "status", "any", "final"),
        fillZero,
        parameters.count("limit", DEFAULT_LIMIT, MAX_LIMIT),
        page);
  }

  /**
   * Returns whether rows are whole billing periods. A billing period may extend beyond the
   * interval.
   */
  boolean byBillingPeriod() {
    return buckets instanceof Buckets.BillingPeriods;
  }

  /** Returns the start of the windows that the report may need, inclusive. */
  Instant readFrom() {
    return byBillingPeriod() ? from.minus(Buckets.BillingPeriods.LONGEST) : from;
  }

  /** Returns the end of the windows that the report may need, exclusive. */
  Instant readTo() {
    return byBillingPeriod() ? to.plus(Buckets.BillingPeriods.LONGEST) : to;
  }

  private static Buckets buckets(String window, Duration atom) {
    Buckets buckets = Buckets.parse(window, atom);
    if (buckets == null) {
      throw Parameters.bad(
          "window",
          "must be P1D, P1M, total, billing-period, or a multiple of "
              + atom
              + " that divides a day, but is '"
              + window
              + "'");
    }
    return buckets;
  }

  private static Instant later(Instant one, Instant other) {
    return one.isAfter(other) ? one : other;
  }

  private static ZoneId zone(String text) {
    try {
      return ZoneId.of(text);
    } catch (DateTimeException unknown) {
      throw Parameters.bad(
          "tz", "must be an IANA time zone such as Europe/Paris, but is '" + text + "'");
    }
  }

  private static boolean choice(Parameters parameters, String field, String off, String on) {
    String value = parameters.one(field, off);
    if (!value.equals(off) && !value.equals(on)) {
      throw Parameters.bad(
          field,
          "must be " + (off.isEmpty() ? on : off + " or " + on) + ", but is '" + value + "'");
    }
    return value.equals(on);
  }
}
