// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.ranking.RankingSelection;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RankingQueryTest {
  private static final Instant NOW = Instant.parse("2026-11-21T14:07:03Z");

  @Test
  void interval_omitted_isTheLastHour_inWholeWindows() {
    RankingSelection selection = query("PT15M", 24).selection();

    assertEquals("2026-11-21T13:00:00Z", text(selection.fromEpochMillis()));
    assertEquals("2026-11-21T14:15:00Z", text(selection.toEpochMillis()));
    assertEquals("calls", selection.meter());
    assertEquals(100, query("PT15M", 24).limit());
  }

  @ParameterizedTest
  @CsvSource({
    "PT1M, 24, 2026-11-21T13:44:00Z, 2026-11-21T14:08:00Z",
    "PT1M, 1, 2026-11-21T14:07:00Z, 2026-11-21T14:08:00Z",
    "P1D, 24, 2026-11-21T00:00:00Z, 2026-11-22T00:00:00Z"
  })
  void interval_omitted_isWhatIsRanked(String window, int ranked, String from, String to) {
    RankingSelection selection = query(window, ranked).selection();

    assertEquals(from, text(selection.fromEpochMillis()));
    assertEquals(to, text(selection.toEpochMillis()));
  }

  @Test
  void interval_given_isRoundedToWholeWindows() {
    RankingSelection selection =
        query("PT15M", 24, "from", "2026-11-21T08:29:00Z", "to", "2026-11-21T09:01:00Z")
            .selection();

    assertEquals("2026-11-21T08:15:00Z", text(selection.fromEpochMillis()));
    assertEquals("2026-11-21T09:15:00Z", text(selection.toEpochMillis()));
  }

  @ParameterizedTest
  @CsvSource({
    "from, from, 2026-11-21T08:14:59Z, must not be before 2026-11-21T08:15:00Z",
    "to, from, 2026-11-22T14:15:00Z, must be after from",
    "order, order, calls, must be quantity or denied",
    "limit, limit, 1001, must be an integer from 1 to 1000",
    "tz, tz, UTC, is not a parameter"
  })
  void invalid_isRefusedByName(String field, String parameter, String value, String rule) {
    ProblemException refused =
        assertThrows(ProblemException.class, () -> query("PT15M", 24, parameter, value));

    String problem = new String(refused.problem().toJson(), UTF_8);
    assertTrue(problem.contains("\"field\":\"" + field + "\""), problem);
    assertTrue(problem.contains(rule), problem);
  }

  @Test
  void nothingRanked_isRefusedWithTheVariable() {
    ProblemException refused = assertThrows(ProblemException.class, () -> query("PT15M", 0));

    assertTrue(new String(refused.problem().toJson(), UTF_8).contains("WEIR_RANKED_WINDOWS"));
  }

  @Test
  void meterWithDenied_isRefused_sinceItWouldNotFilter() {
    assertThrows(
        ProblemException.class, () -> query("PT15M", 24, "order", "denied", "meter", "calls"));
    assertEquals(
        RankingSelection.Measure.DENIED,
        query("PT15M", 24, "order", "denied").selection().measure());
  }

  private static RankingQuery query(String window, int ranked, String... pairs) {
    Map<String, List<String>> given = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      given.put(pairs[i], List.of(pairs[i + 1]));
    }
    ReportSettings settings =
        new ReportSettings(
            KafkaConnection.to("kafka:9092"),
            4,
            Duration.parse(window),
            Duration.ofDays(35),
            Duration.ofSeconds(5),
            ranked);
    return RankingQuery.of(RankingSelection.Subject.CLIENTS, given, settings, NOW);
  }

  private static String text(long epochMillis) {
    return Instant.ofEpochMilli(epochMillis).toString();
  }
}
