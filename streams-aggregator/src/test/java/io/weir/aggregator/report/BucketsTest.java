// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class BucketsTest {
  private static final Duration ATOM = Duration.ofMinutes(15);
  private static final ZoneId PARIS = ZoneId.of("Europe/Paris");

  @Test
  void day_whenClocksGoForward_has23Hours() {
    assertEquals(
        List.of(24L, 23L, 24L),
        hours("P1D", "2026-03-27T23:00:00Z", "2026-03-30T22:00:00Z", PARIS));
  }

  @Test
  void day_whenClocksGoBack_has25Hours() {
    assertEquals(
        List.of(24L, 25L, 24L),
        hours("P1D", "2026-10-23T22:00:00Z", "2026-10-26T23:00:00Z", PARIS));
  }

  @Test
  void month_inZone_endsAtLocalMidnight() {
    assertEquals(
        List.of(
            Instant.parse("2026-02-15T12:00:00Z"),
            Instant.parse("2026-02-28T23:00:00Z"),
            Instant.parse("2026-03-31T22:00:00Z"),
            Instant.parse("2026-04-02T00:00:00Z")),
        boundaries("P1M", "2026-02-15T12:00:00Z", "2026-04-02T00:00:00Z", PARIS));
  }

  @Test
  void sixHours_whenClocksGoBack_beginAgainAtMidnight() {
    assertEquals(
        List.of(6L, 6L, 6L, 6L, 1L, 6L),
        hours("PT6H", "2026-10-24T22:00:00Z", "2026-10-26T05:00:00Z", PARIS));
  }

  @Test
  void quarterHours_inKathmandu_fallOnLocalQuarters() {
    assertEquals(
        List.of(
            Instant.parse("2026-11-21T00:00:00Z"),
            Instant.parse("2026-11-21T00:15:00Z"),
            Instant.parse("2026-11-21T00:30:00Z")),
        boundaries(
            "PT15M", "2026-11-21T00:00:00Z", "2026-11-21T00:30:00Z", ZoneId.of("Asia/Kathmandu")));
  }

  @Test
  void total_ofAnyInterval_isOneBucket() {
    assertEquals(
        2, boundaries("total", "2026-01-01T00:00:00Z", "2026-11-21T00:00:00Z", PARIS).size());
  }

  @Test
  void parse_lengthThatIsNoMultipleOfTheWindow_isNone() {
    assertNull(Buckets.parse("PT1M", ATOM));
    assertNull(Buckets.parse("PT7H", ATOM));
    assertNull(Buckets.parse("-PT15M", ATOM));
    assertNull(Buckets.parse("day", ATOM));
    assertNotNull(Buckets.parse("PT1M", Duration.ofSeconds(2)));
  }

  @Test
  void boundaries_moreThanTheBound_areNone() {
    Buckets buckets = Buckets.parse("PT1S", Duration.ofSeconds(1));
    assertNotNull(buckets);

    assertNull(
        buckets.boundaries(
            Instant.parse("2026-01-01T00:00:00Z"), Instant.parse("2026-01-02T00:00:00Z"), PARIS));
  }

  private static List<Long> hours(String window, String from, String to, ZoneId zone) {
    List<Instant> boundaries = boundaries(window, from, to, zone);
    List<Long> hours = new ArrayList<>();
    for (int i = 1; i < boundaries.size(); i++) {
      hours.add(Duration.between(boundaries.get(i - 1), boundaries.get(i)).toHours());
    }
    return hours;
  }

  private static List<Instant> boundaries(String window, String from, String to, ZoneId zone) {
    Buckets buckets = Buckets.parse(window, ATOM);
    assertNotNull(buckets);
    List<Instant> boundaries = buckets.boundaries(Instant.parse(from), Instant.parse(to), zone);
    assertNotNull(boundaries);
    return boundaries;
  }
}
