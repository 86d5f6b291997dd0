// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;

/**
 * A limit on the number of tokens per window of a fixed length. Each window has its own bucket.
 *
 * <p>Windows are aligned to the epoch or to the calendar. A window that is aligned to the epoch
 * begins at a multiple of the length since 1970-01-01T00:00:00Z. If windows are aligned to the
 * calendar, the first window of each day begins at the start of the day in the time zone. The last
 * window of a day ends with the day, and is shorter if the day is not a multiple of the length.
 *
 * <p>Bound: calls take at most the capacity in each window. An interval of a window's length can
 * span two windows, so calls take at most twice the capacity in such an interval.
 *
 * @param capacityTokens tokens per window; 1 to 2^53 − 1
 * @param lengthSeconds length of a window; 1 s to 366 days, or at most a day if aligned to the
 *     calendar
 * @param alignment whether windows are aligned to the epoch or to the calendar
 * @param timeZone zone in which days begin, for clients that do not set a zone; ignored for windows
 *     that are aligned to the epoch
 * @param resetJitterSeconds maximum delay that is added to the windows of a bucket; 0 to the
 *     length. Windows that are aligned to the calendar must have no delay
 */
public record FixedWindow(
    long capacityTokens,
    long lengthSeconds,
    Alignment alignment,
    ZoneId timeZone,
    long resetJitterSeconds)
    implements PeriodicLimit {
  /** Longest window: 366 days. */
  public static final long MAX_LENGTH_SECONDS = 366L * 86_400;

  /** Longest window that is aligned to the calendar: one day. */
  public static final long MAX_CALENDAR_LENGTH_SECONDS = 86_400;

  /** The alignment of the windows. */
  public enum Alignment {
    /** Windows begin at multiples of their length since 1970-01-01T00:00:00Z. */
    EPOCH,
    /** The first window of each day begins at the start of the day. */
    CALENDAR
  }

  public FixedWindow {
    Numbers.require("limit", capacityTokens, 1);
    Numbers.require(
        "window (s)",
        lengthSeconds,
        1,
        alignment == Alignment.EPOCH ? MAX_LENGTH_SECONDS : MAX_CALENDAR_LENGTH_SECONDS);
    Numbers.require(
        "reset_jitter (s)",
        resetJitterSeconds,
        0,
        alignment == Alignment.EPOCH ? lengthSeconds : 0);
  }

  /** Creates windows that begin at the same time for all buckets. */
  public FixedWindow(
      long capacityTokens, long lengthSeconds, Alignment alignment, ZoneId timeZone) {
    this(capacityTokens, lengthSeconds, alignment, timeZone, 0);
  }

  @Override
  public Span at(long epochMillis, ClientCalendar client) {
    long second = Math.floorDiv(epochMillis, 1_000L);
    if (alignment == Alignment.EPOCH) {
      long start = second - Math.floorMod(second, lengthSeconds);
      return new Span(start, start + lengthSeconds);
    }
    ZoneId zone = client.timeZone() == null ? timeZone : client.timeZone();
    LocalDate day = CalendarQuota.dayAt(Instant.ofEpochMilli(epochMillis), zone);
    long dayStart = day.atStartOfDay(zone).toEpochSecond();
    long dayEnd = day.plusDays(1).atStartOfDay(zone).toEpochSecond();
    long start = second - Math.floorMod(second - dayStart, lengthSeconds);
    return new Span(start, Math.min(start + lengthSeconds, dayEnd));
  }

  @Override
  public boolean followsCalendar() {
    return alignment == Alignment.CALENDAR;
  }

  @Override
  public FixedWindow withCapacity(long tokens) {
    return new FixedWindow(tokens, lengthSeconds, alignment, timeZone, resetJitterSeconds);
  }

  @Override
  public BucketLimit in(Span period) {
    return new FixedWindowLimit(
        capacityTokens, period.endEpochMicros(), Math.multiplyExact(lengthSeconds, 1_000_000L));
  }

  @Override
  public boolean isNoWiderThan(PolicyLimit other) {
    return other instanceof FixedWindow window
        && capacityTokens <= window.capacityTokens
        && lengthSeconds == window.lengthSeconds
        && alignment == window.alignment
        && resetJitterSeconds == window.resetJitterSeconds
        && (alignment == Alignment.EPOCH || timeZone.equals(window.timeZone));
  }

  @Override
  public String describe() {
    String length = Duration.ofSeconds(lengthSeconds).toString();
    return alignment == Alignment.EPOCH
        ? String.format("%d tokens per window of %s", capacityTokens, length)
        : String.format(
            "%d tokens per window of %s from the beginning of the day in %s",
            capacityTokens, length, timeZone);
  }
}
