// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.limits.Names;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
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
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The query parameters of a request. Each parameter can occur at most once. An empty parameter
 * counts as absent. If a parameter is invalid, the methods throw a {@link ProblemException} that
 * names the parameter.
 *
 * @param values the values by name
 */
record Parameters(Map<String, List<String>> values) {
  private static final int MIN_YEAR = 1971;
  private static final int MAX_YEAR = 9999;

  /**
   * The start of a UTC offset whose plus sign was not percent-encoded. Form decoding converts the
   * plus sign to a space.
   */
  private static final Pattern UNENCODED_PLUS = Pattern.compile(" (?=[0-9]{2}:[0-9]{2}$)");

  /**
   * Refuses unknown parameters. Otherwise a request with a misspelt filter would silently return
   * more rows.
   */
  Parameters onlyKnown(Set<String> known) {
    for (String name : values.keySet()) {
      if (!known.contains(name)) {
        throw bad(name, "is not a parameter of this route");
      }
    }
    return this;
  }

  /** Returns the value of a parameter. */
  String one(String field, String byDefault) {
    List<String> given = values.getOrDefault(field, List.of());
    if (given.size() > 1) {
      throw bad(field, "must occur at most once");
    }
    return given.isEmpty() || given.get(0).isEmpty() ? byDefault : given.get(0);
  }

  /** Returns the value of a parameter that is the name of a client, meter or endpoint. */
  String name(String field, String byDefault) {
    return checkedName(field, one(field, byDefault));
  }

  static String checkedName(String field, String name) {
    String violation = Names.violation(name);
    if (violation != null) {
      throw bad(field, name.isEmpty() ? "is missing" : violation);
    }
    return name;
  }

  /**
   * Returns the value of a parameter that is an RFC 3339 time or a date. A date represents the
   * start of that day in the time zone.
   */
  Instant moment(String field, Instant byDefault, ZoneId zone) {
    String text = one(field, "");
    if (text.isEmpty()) {
      return byDefault;
    }
    try {
      Instant moment =
          text.length() == "2026-11-21".length()
              ? LocalDate.parse(text).atStartOfDay(zone).toInstant()
              : OffsetDateTime.parse(UNENCODED_PLUS.matcher(text).replaceFirst("+")).toInstant();
      int year = moment.atOffset(ZoneOffset.UTC).getYear();
      if (year >= MIN_YEAR && year <= MAX_YEAR) {
        return moment;
      }
    } catch (DateTimeException notATime) {
      // refused below
    }
    throw bad(
        field, "must be an RFC 3339 time or a date such as 2026-11-21, but is '" + text + "'");
  }

  /** Refuses an empty interval, and an interval that is longer than {@code max}. */
  static void requireInterval(Instant from, Instant to, Duration max) {
    if (!from.isBefore(to)) {
      throw bad("to", "must be after from");
    }
    if (Duration.between(from, to).compareTo(max) > 0) {
      throw bad("from", "must be at most " + max.toDays() + " days before to");
    }
  }

  /** Rounds a time down to a multiple of a length since 1970. */
  static Instant floor(Instant moment, Duration length) {
    long millis = moment.toEpochMilli();
    return Instant.ofEpochMilli(millis - Math.floorMod(millis, length.toMillis()));
  }

  /** Rounds a time up to a multiple of a length since 1970. */
  static Instant ceil(Instant moment, Duration length) {
    return floor(moment.plus(length).minusNanos(1), length);
  }

  /** Returns the value of a parameter that is an integer from 1 to a maximum, inclusive. */
  int count(String field, int byDefault, int max) {
    String text = one(field, Integer.toString(byDefault));
    try {
      int count = Integer.parseInt(text);
      if (count >= 1 && count <= max) {
        return count;
      }
    } catch (NumberFormatException notANumber) {
      // refused below
    }
    throw bad(field, "must be an integer from 1 to " + max + ", but is '" + text + "'");
  }

  /** Returns the cursor in the parameter {@code page}, or null for the first page. */
  <T> @Nullable T page(Function<String, @Nullable T> parser) {
    String text = one("page", "");
    if (text.isEmpty()) {
      return null;
    }
    T page = parser.apply(text);
    if (page == null) {
      throw bad("page", "must be the next_page of a response");
    }
    return page;
  }

  static ProblemException bad(String field, String rule) {
    return new ProblemException(Problem.ofField(ProblemReason.INVALID_PARAMETER, field, rule));
  }
}
