// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.FixedWindow.Alignment;
import io.weir.limits.PeriodicLimit.Span;
import java.time.Instant;
import java.time.ZoneId;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class FixedWindowTest {
  private static final ZoneId PARIS = ZoneId.of("Europe/Paris");

  private static final ZoneId UTC = ZoneId.of("UTC");

  private static FixedWindow calendar(long lengthSeconds, ZoneId zone) {
    return new FixedWindow(100, lengthSeconds, Alignment.CALENDAR, zone);
  }

  private static Span at(FixedWindow window, String moment) {
    return window.at(Instant.parse(moment).toEpochMilli(), ClientCalendar.OF_POLICY);
  }

  private static Span span(String start, String end) {
    return new Span(Instant.parse(start).getEpochSecond(), Instant.parse(end).getEpochSecond());
  }

  @Test
  void at_epoch_beginsAtMultiplesOfTheLength() {
    FixedWindow minute = new FixedWindow(100, 60, Alignment.EPOCH, UTC);

    assertEquals(
        span("2026-11-24T12:00:00Z", "2026-11-24T12:01:00Z"), at(minute, "2026-11-24T12:00:00Z"));
    assertEquals(
        span("2026-11-24T12:00:00Z", "2026-11-24T12:01:00Z"),
        at(minute, "2026-11-24T12:00:59.999Z"));
    assertEquals(
        new Span(-7, 0),
        new FixedWindow(1, 7, Alignment.EPOCH, UTC).at(-1, ClientCalendar.OF_POLICY));
  }

  /**
   * The windows of each bucket have the length and no gaps. Over many buckets, windows begin at all
   * seconds.
   */
  @Test
  void at_withJitter_spreadsTheBuckets_andKeepsTheLength() {
    FixedWindow minute = new FixedWindow(100, 60, Alignment.EPOCH, UTC, 20);
    Set<Long> begins = new HashSet<>();
    for (int i = 0; i < 500; i++) {
      String bucket = BucketKey.of("burst", "client-" + i).text();
      long millis = Instant.parse("2026-11-24T12:00:30Z").toEpochMilli();
      Span span = minute.at(millis, ClientCalendar.OF_POLICY, bucket);
      assertEquals(60, span.endEpochSecond() - span.startEpochSecond());
      assertTrue(
          span.startEpochSecond() * 1_000 <= millis && millis < span.endEpochSecond() * 1_000);
      Span next = minute.at(span.endEpochSecond() * 1_000, ClientCalendar.OF_POLICY, bucket);
      assertEquals(span.endEpochSecond(), next.startEpochSecond());
      begins.add(Math.floorMod(span.startEpochSecond(), 60L));
    }
    assertEquals(21, begins.size(), begins::toString);
    assertTrue(begins.stream().allMatch(second -> second <= 20), begins::toString);
  }

  /** The day on which the clock changes has 25 hours in October, and 23 hours in March. */
  @ParameterizedTest
  @CsvSource({
    "2026-11-24T22:59:59Z, 2026-11-24T17:00:00Z, 2026-11-24T23:00:00Z",
    "2026-11-24T23:00:00Z, 2026-11-24T23:00:00Z, 2026-11-25T05:00:00Z",
    "2026-10-25T22:30:00Z, 2026-10-25T22:00:00Z, 2026-10-25T23:00:00Z",
    "2026-03-29T21:30:00Z, 2026-03-29T17:00:00Z, 2026-03-29T22:00:00Z"
  })
  void at_calendar_windowsStartAndEndWithTheDay(String moment, String start, String end) {
    assertEquals(span(start, end), at(calendar(6 * 3_600, PARIS), moment));
  }

  @Test
  void at_calendarOfTheClient_overridesThePolicys() {
    ClientCalendar client = new ClientCalendar(PARIS, null);
    long moment = Instant.parse("2026-11-24T12:00:00Z").toEpochMilli();

    assertEquals(
        span("2026-11-23T23:00:00Z", "2026-11-24T23:00:00Z"),
        calendar(86_400, UTC).at(moment, client));
  }

  /** Checks many times of days with and without a change of the clock, in several zones. */
  @Test
  void at_randomMoments_windowsFollowEachOtherWithoutGapOrOverlap() {
    List<String> zones =
        List.of("Europe/Paris", "Pacific/Apia", "America/Havana", "Asia/Kathmandu", "UTC");
    Random random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      boolean calendar = random.nextBoolean();
      FixedWindow window =
          new FixedWindow(
              1,
              1 + random.nextInt(86_400),
              calendar ? Alignment.CALENDAR : Alignment.EPOCH,
              ZoneId.of(zones.get(random.nextInt(zones.size()))));
      long second = random.nextLong(0, 2_000_000_000L);
      Span span = window.at(second * 1_000 + random.nextInt(1_000), ClientCalendar.OF_POLICY);

      assertTrue(
          span.startEpochSecond() <= second && second < span.endEpochSecond(),
          () -> span + " at " + second);
      assertTrue(span.endEpochSecond() - span.startEpochSecond() <= window.lengthSeconds());
      Span next = window.at(span.endEpochSecond() * 1_000, ClientCalendar.OF_POLICY);
      assertEquals(span.endEpochSecond(), next.startEpochSecond(), window::toString);
    }
  }

  @Test
  void bucket_admitsTheCapacityInEachWindow_andNoMore() {
    FixedWindow window = new FixedWindow(3, 60, Alignment.EPOCH, UTC);
    BucketLimit limit = window.in(new Span(1_000_000, 1_000_060));
    BucketArithmetic arithmetic = limit.arithmetic();
    long now = 1_000_010_000_000L;
    BucketState state = arithmetic.refill(null, now);
    for (int i = 0; i < 3; i++) {
      assertTrue(arithmetic.holds(state, 1));
      state = arithmetic.charge(state, 1, now);
    }

    assertFalse(arithmetic.holds(arithmetic.refill(state, now + 49_999_999), 1));
    assertEquals(50_000_000, arithmetic.retryAfterMicros(state, 1, now));
    assertEquals(LimitAlgorithm.FIXED_WINDOW, limit.algorithm());
  }

  @Test
  void new_numberOutOfRange_isRefused() {
    assertThrows(
        IllegalArgumentException.class, () -> new FixedWindow(0, 60, Alignment.EPOCH, UTC));
    assertThrows(IllegalArgumentException.class, () -> new FixedWindow(1, 0, Alignment.EPOCH, UTC));
    assertThrows(IllegalArgumentException.class, () -> calendar(86_401, UTC));
    assertThrows(
        IllegalArgumentException.class,
        () -> new FixedWindow(1, 366L * 86_400 + 1, Alignment.EPOCH, UTC));
  }

  @Test
  void isNoWiderThan_comparesWindowsOfOneKind() {
    FixedWindow minute = new FixedWindow(10, 60, Alignment.EPOCH, UTC);

    assertTrue(minute.isNoWiderThan(minute.withCapacity(11)));
    assertFalse(minute.isNoWiderThan(minute.withCapacity(9)));
    assertFalse(minute.isNoWiderThan(new FixedWindow(10, 61, Alignment.EPOCH, UTC)));
    assertFalse(calendar(60, UTC).isNoWiderThan(calendar(60, PARIS)));
  }
}
