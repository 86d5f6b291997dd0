// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.ranking.RankingSelection;
import io.weir.topics.model.CallEvent;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * A validated request for the heaviest clients or endpoints.
 *
 * @param selection the ranked figures
 * @param limit maximum number of names in the response
 */
record RankingQuery(RankingSelection selection, int limit) {
  static final Set<String> PARAMETERS = Set.of("order", "meter", "from", "to", "prefix", "limit");

  private static final int DEFAULT_LIMIT = 100;
  private static final int MAX_LIMIT = 1_000;

  /** Length of the interval if the request does not contain {@code from}. */
  private static final Duration DEFAULT_LENGTH = Duration.ofHours(1);

  /**
   * Validates the parameters of a request.
   *
   * @param given the values by name
   * @throws ProblemException if a parameter is invalid; the problem names the parameter
   */
  static RankingQuery of(
      RankingSelection.Subject subject,
      Map<String, List<String>> given,
      ReportSettings settings,
      Instant now) {
    Parameters parameters = new Parameters(given).onlyKnown(PARAMETERS);
    RankingSelection.Measure measure =
        choice(parameters, "order", RankingSelection.Measure.QUANTITY);
    if (settings.rankedWindows() == 0) {
      throw Parameters.bad("order", "is not available because WEIR_RANKED_WINDOWS is 0");
    }
    String meter = parameters.name("meter", CallEvent.DEFAULT_METER);
    if (measure == RankingSelection.Measure.DENIED && !parameters.one("meter", "").isEmpty()) {
      throw Parameters.bad(
          "meter",
          "must be absent if order is denied, because denied calls of all meters are ranked");
    }
    Duration window = settings.window();
    Instant to = parameters.moment("to", now, ZoneOffset.UTC);
    Instant oldest =
        Parameters.floor(now, window).minus(window.multipliedBy(settings.rankedWindows() - 1L));
    Instant hourBefore = Parameters.floor(to.minus(DEFAULT_LENGTH), window);
    Instant from =
        Parameters.floor(
            parameters.moment(
                "from", hourBefore.isBefore(oldest) ? oldest : hourBefore, ZoneOffset.UTC),
            window);
    if (from.isBefore(oldest)) {
      throw Parameters.bad(
          "from",
          "must not be before "
              + oldest
              + ", because only the last "
              + settings.rankedWindows()
              + " windows of "
              + window
              + " are ranked (WEIR_RANKED_WINDOWS)");
    }
    if (!from.isBefore(to)) {
      throw Parameters.bad("to", "must be after from, which is " + from);
    }
    return new RankingQuery(
        new RankingSelection(
            subject,
            measure,
            meter,
            from.toEpochMilli(),
            Parameters.ceil(to, window).toEpochMilli(),
            prefix(parameters)),
        parameters.count("limit", DEFAULT_LIMIT, MAX_LIMIT));
  }

  /** Returns the constant that a parameter names. */
  static <E extends Enum<E>> E choice(Parameters parameters, String field, E byDefault) {
    String given = parameters.one(field, word(byDefault));
    List<String> words = new ArrayList<>();
    for (E constant : byDefault.getDeclaringClass().getEnumConstants()) {
      if (word(constant).equals(given)) {
        return constant;
      }
      words.add(word(constant));
    }
    throw Parameters.bad(
        field, "must be " + String.join(" or ", words) + ", but is '" + given + "'");
  }

  /** Returns the name of a constant in requests and responses. */
  static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  static String prefix(Parameters parameters) {
    String prefix = parameters.one("prefix", "");
    if (!prefix.isEmpty()) {
      Parameters.checkedName("prefix", prefix);
    }
    return prefix;
  }
}
