// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Names;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a usage report is asked for, checked.
 *
 * @param client whose usage
 * @param meter what is counted
 * @param from first moment, rounded down to a ledger window
 * @param to first moment behind, rounded up to a ledger window
 * @param window how the parameter named the buckets
 * @param buckets how time is cut
 * @param zone whose midnights
 * @param byEndpoint whether each endpoint has rows of its own
 * @param finalOnly whether buckets that may still grow are left out
 * @param fillZero whether buckets without calls are told
 * @param limit most rows in the answer
 * @param page where the page begins, null for the first
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

  /** Longer than the audit log and the invoice year. */
  private static final Duration MAX_LENGTH = Duration.ofDays(400);

  /**
   * Reads the parameters of a request.
   *
   * @param atom the ledger's window
   * @throws ProblemException naming the parameter that is wrong
   */
  static UsageQuery of(Map<String, List<String>> parameters, Duration atom, Instant now) {
    requireKnown(parameters, PARAMETERS);
    String client = name(parameters, "client", "");
    String meter = name(parameters, "meter", CallEvent.DEFAULT_METER);
    ZoneId zone = zone(one(parameters, "tz", "UTC"));
    PageCursor page = page(parameters);
    Instant startOfToday = now.atZone(zone).toLocalDate().atStartOfDay(zone).toInstant();
    Instant from = moment(parameters, "from", startOfToday, zone);
    Instant to = page == null ? moment(parameters, "to", now, zone) : page.to();
    Instant first = page == null ? floor(from, atom) : page.from();
    Instant behind = floor(to.plus(atom).minusNanos(1), atom);
    if (!first.isBefore(behind)) {
      throw bad("to", "must be after from");
    }
    if (Duration.between(first, behind).compareTo(MAX_LENGTH) > 0) {
      throw bad("from", "must be at most " + MAX_LENGTH.toDays() + " days before to");
    }
    String window = one(parameters, "window", atom.toString());
    Buckets buckets = Buckets.parse(window, atom);
    if (buckets == null) {
      throw bad(
          "window",
          "must be P1D, P1M, total, or a multiple of "
              + atom
              + " that divides a day; is '"
              + window
              + "'");
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
        choice(parameters, "fill", "none", "zero"),
        limit(parameters),
        page);
  }

  /** Refuses parameters of other names: a misspelt filter must not give a larger number. */
  static void requireKnown(Map<String, List<String>> parameters, Set<String> known) {
    for (String name : parameters.keySet()) {
      if (!known.contains(name)) {
        throw bad(name, "is not a parameter of this route");
      }
    }
  }

  private static String one(Map<String, List<String>> parameters, String field, String byDefault) {
    List<String> values = parameters.getOrDefault(field, List.of());
    if (values.size() > 1) {
      throw bad(field, "must be given once");
    }
    return values.isEmpty() || values.get(0).isEmpty() ? byDefault : values.get(0);
  }

  private static String name(Map<String, List<String>> parameters, String field, String byDefault) {
    String name = one(parameters, field, byDefault);
    String violation = Names.violation(name);
    if (violation != null) {
      throw bad(field, violation);
    }
    return name;
  }

  private static ZoneId zone(String text) {
    try {
      return ZoneId.of(text);
    } catch (DateTimeException unknown) {
      throw bad("tz", "must be an IANA time zone such as Europe/Paris, is '" + text + "'");
    }
  }

  private static Instant moment(
      Map<String, List<String>> parameters, String field, Instant byDefault, ZoneId zone) {
    String text = one(parameters, field, "");
    if (text.isEmpty()) {
      return byDefault;
    }
    try {
      Instant moment =
          text.length() == "2026-11-21".length()
              ? LocalDate.parse(text).atStartOfDay(zone).toInstant()
              : OffsetDateTime.parse(text).toInstant();
      int year = moment.atOffset(ZoneOffset.UTC).getYear();
      if (year >= 1971 && year <= 9999) {
        return moment;
      }
    } catch (DateTimeException notATime) {
      // refused below
    }
    throw bad(field, "must be an RFC 3339 time or a date such as 2026-11-21, is '" + text + "'");
  }

  private static boolean choice(
      Map<String, List<String>> parameters, String field, String off, String on) {
    String value = one(parameters, field, off);
    if (!value.equals(off) && !value.equals(on)) {
      throw bad(
          field, "must be " + (off.isEmpty() ? on : off + " or " + on) + ", is '" + value + "'");
    }
    return value.equals(on);
  }

  private static int limit(Map<String, List<String>> parameters) {
    String text = one(parameters, "limit", Integer.toString(DEFAULT_LIMIT));
    try {
      int limit = Integer.parseInt(text);
      if (limit >= 1 && limit <= MAX_LIMIT) {
        return limit;
      }
    } catch (NumberFormatException notANumber) {
      // refused below
    }
    throw bad("limit", "must be 1 to " + MAX_LIMIT + ", is '" + text + "'");
  }

  private static @Nullable PageCursor page(Map<String, List<String>> parameters) {
    String text = one(parameters, "page", "");
    if (text.isEmpty()) {
      return null;
    }
    PageCursor page = PageCursor.parse(text);
    if (page == null) {
      throw bad("page", "must be the next_page of an answer");
    }
    return page;
  }

  private static Instant floor(Instant moment, Duration atom) {
    long millis = moment.toEpochMilli();
    return Instant.ofEpochMilli(millis - Math.floorMod(millis, atom.toMillis()));
  }

  private static ProblemException bad(String field, String rule) {
    return new ProblemException(Problem.badParameter(field, rule));
  }
}
