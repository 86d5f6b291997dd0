// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class EventQueryTest {
  private static final Instant NOW = Instant.parse("2026-11-21T14:10:00Z");

  @Test
  void query_withoutParameters_isTheLastHour() {
    EventQuery query = query();

    assertEquals(NOW.minusSeconds(3_600).toEpochMilli(), query.fromEpochMillis());
    assertEquals(NOW.toEpochMilli(), query.toEpochMillis());
    assertEquals(100, query.limit());
    assertNull(query.allowed());
    assertNull(query.endpoint());
  }

  @Test
  void from_withinAMillisecond_isRoundedUp() {
    assertEquals(
        Instant.parse("2026-11-21T14:03:07.001Z").toEpochMilli(),
        query("from", "2026-11-21T14:03:07.0001Z").fromEpochMillis());
  }

  @Test
  void from_withAnOffsetWhosePlusWasNotEncoded_isRead() {
    assertEquals(
        Instant.parse("2026-11-21T13:03:07Z").toEpochMilli(),
        query("from", "2026-11-21T14:03:07 01:00").fromEpochMillis());
  }

  @Test
  void page_pinsTheInterval() {
    EventCursor cursor =
        new EventCursor(5, 9, 77, 3, Map.of(new BatchTrail.Journal("node-1", 12), "1.2.3.0.5+7"));

    EventQuery query = query("page", cursor.toString());
    assertEquals(5, query.fromEpochMillis());
    assertEquals(9, query.toEpochMillis());
    assertEquals(cursor, query.page());
  }

  @Test
  void cursor_ofAnythingElse_isNone() {
    for (String text :
        List.of(
            "",
            "zzz",
            "%%%",
            encoded("e1:5:9:77"),
            encoded("e1:9:5:77:0:"),
            encoded("e1:5:9:-1:0:"),
            encoded("e1:5:9:77:0:node"),
            encoded("e1:5:9:77:0:node/1/1.2"),
            encoded("1:5:9:77:0:"))) {
      assertNull(EventCursor.parse(text), text);
    }
  }

  @Test
  void query_ofMoreThanTheLogKeeps_isRefused() {
    ProblemException refused =
        assertThrows(
            ProblemException.class,
            () -> query("from", "2026-10-01T00:00:00Z", "to", "2026-11-06T00:00:00Z"));

    assertEquals("from", refused.problem().field());
  }

  private static String encoded(String plain) {
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(plain.getBytes(StandardCharsets.UTF_8));
  }

  private static EventQuery query(String... namesAndValues) {
    Map<String, List<String>> parameters = new HashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      parameters.put(namesAndValues[i], List.of(namesAndValues[i + 1]));
    }
    return EventQuery.of("acme", parameters, NOW);
  }
}
