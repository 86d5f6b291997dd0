// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.catalog.Topics;
import io.weir.topics.model.CallEvent;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A validated request for a list of a client's calls.
 *
 * @param client the client
 * @param fromEpochMillis start of the interval of listed decisions and settlements, inclusive
 * @param toEpochMillis end of the interval of listed decisions and settlements, exclusive
 * @param allowed true for only allowed calls, false for only denied calls, null for both
 * @param endpoint the endpoint of the listed calls; null for all endpoints
 * @param limit maximum number of calls in the response
 * @param page cursor of the page; null for the first page
 */
record EventQuery(
    String client,
    long fromEpochMillis,
    long toEpochMillis,
    @Nullable Boolean allowed,
    @Nullable String endpoint,
    int limit,
    @Nullable EventCursor page) {

  private static final Set<String> PARAMETERS =
      Set.of("from", "to", "allowed", "endpoint", "limit", "page");

  private static final int DEFAULT_LIMIT = 100;
  private static final int MAX_LIMIT = 1_000;
  private static final Duration DEFAULT_LENGTH = Duration.ofHours(1);

  /** Maximum length of the interval, which is the retention of the audit log. */
  private static final Duration MAX_LENGTH = Topics.LATENESS;

  /**
   * Validates a request.
   *
   * @throws ProblemException if a parameter is invalid; the problem names the parameter
   */
  static EventQuery of(String client, Map<String, List<String>> given, Instant now) {
    Parameters parameters = new Parameters(given).onlyKnown(PARAMETERS);
    EventCursor page = parameters.page(EventCursor::parse);
    Instant to = parameters.moment("to", now, ZoneOffset.UTC);
    Instant from = parameters.moment("from", to.minus(DEFAULT_LENGTH), ZoneOffset.UTC);
    Parameters.requireInterval(from, to, MAX_LENGTH);
    String endpoint = parameters.one("endpoint", "");
    return new EventQuery(
        Parameters.checkedName("client", client),
        page == null ? millisAtOrBehind(from) : page.fromEpochMillis(),
        page == null ? millisAtOrBehind(to) : page.toEpochMillis(),
        verdict(parameters.one("allowed", "")),
        endpoint.isEmpty() ? null : Parameters.checkedName("endpoint", endpoint),
        parameters.count("limit", DEFAULT_LIMIT, MAX_LIMIT),
        page);
  }

  /**
   * Returns whether the list must contain a call or settlement. The time of a settlement is the
   * time at which it was made.
   */
  boolean holds(CallEvent call) {
    return call.client().equals(client)
        && call.happenedAtEpochMillis() >= fromEpochMillis
        && call.happenedAtEpochMillis() < toEpochMillis
        && (allowed == null || allowed == call.allowed())
        && (endpoint == null || endpoint.equals(call.endpoint()));
  }

  private static @Nullable Boolean verdict(String text) {
    return switch (text) {
      case "" -> null;
      case "true" -> true;
      case "false" -> false;
      default -> throw Parameters.bad("allowed", "must be true or false, but is '" + text + "'");
    };
  }

  /** Returns a time in milliseconds, rounded up. Times of calls are in whole milliseconds. */
  private static long millisAtOrBehind(Instant moment) {
    return moment.plusNanos(999_999).toEpochMilli();
  }
}
