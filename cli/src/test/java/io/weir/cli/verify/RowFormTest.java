// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.limits.BillingCalendar;
import io.weir.limits.BillingPeriod;
import io.weir.limits.ClientCalendar;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Errors in the form of a row whose figures agree with the calls. */
final class RowFormTest {
  private static final long START = millis("2026-11-20T10:00:00Z");
  private static final long PERIOD_START = millis("2026-11-14T18:15:00Z");
  private static final long PERIOD_END = millis("2026-12-14T18:15:00Z");
  private static final String NEPAL = "Asia/Kathmandu";

  private static long millis(String moment) {
    return Instant.parse(moment).toEpochMilli();
  }

  private static UsageRow row(long start, @Nullable BillingPeriod own) {
    return new UsageRow(
        new UsageKey("acme", "calls", "-"),
        new UsageWindow(start, start + 900_000),
        UsageRow.Type.FINAL,
        1,
        null,
        null,
        UsageCount.ZERO,
        0,
        0,
        start + 900_000,
        true,
        0,
        own);
  }

  private static List<String> faults(@Nullable BillingPeriod own) {
    return faults(row(START, own), "", "");
  }

  /** The faults of a row in whose bytes a text is replaced. */
  private static List<String> faults(LedgerRow row, String text, String by) {
    String bytes = new String(LedgerRowCodec.encode(row), StandardCharsets.UTF_8);
    byte[] changed = bytes.replace(text, by).getBytes(StandardCharsets.UTF_8);
    try {
      return RowForm.faults(changed, LedgerRowCodec.decode(changed));
    } catch (MalformedRecordException notARow) {
      throw new AssertionError(notARow);
    }
  }

  private static BillingPeriod nepal() {
    return BillingPeriod.own("2026-11-15", NEPAL, PERIOD_START, PERIOD_END);
  }

  @Test
  void rowsAsTheyAreWritten_haveNoFault() {
    CloseRow close = new CloseRow(0, START, 1, 1, true, 0);

    assertEquals(List.of(), faults((BillingPeriod) null));
    assertEquals(List.of(), faults(nepal()));
    assertEquals(List.of(), faults(close, "", ""));
  }

  /** Midnights that do not exist, days that do not, and the shortest and longest months. */
  @Test
  void periodsOfEveryCalendar_haveNoFault() {
    for (String zone :
        List.of("Pacific/Apia", "America/Sao_Paulo", "Africa/Cairo", "Europe/Paris", "UTC")) {
      for (int day : List.of(1, 15, 28, 31)) {
        ClientCalendar client = new ClientCalendar(ZoneId.of(zone), LocalDate.of(2026, 1, day));
        BillingCalendar calendar = BillingCalendar.of(client);
        if (calendar == null) {
          continue;
        }
        for (long at = millis("2011-10-01T00:00:00Z"), i = 0;
            i < 200;
            i++, at += 11 * 86_400_000L) {
          BillingPeriod own = Objects.requireNonNull(calendar).at(at).period();
          assertEquals(List.of(), faults(row(at, own), "", ""));
        }
      }
    }
  }

  @Test
  void datedPeriodInARowOfVersion1_isAFault() {
    assertEquals(
        List.of("has schema_version 1, and the billing period 2026-11-15, which is a date"),
        faults(row(START, nepal()), "\"schema_version\":2", "\"schema_version\":1"));
  }

  @Test
  void monthInARowOfVersion2_isAFault() {
    assertEquals(
        List.of("has schema_version 2, and the billing period 2026-11, which is a month"),
        faults(row(START, null), "\"schema_version\":1", "\"schema_version\":2"));
  }

  @Test
  void unknownVersion_isAFault_alsoOfAClose() {
    CloseRow close = new CloseRow(0, START, 1, 1, true, 0);

    assertEquals(
        List.of("has schema_version 3"),
        faults(row(START, nepal()), "\"schema_version\":2", "\"schema_version\":3"));
    assertEquals(
        List.of("has schema_version 2"),
        faults(close, "\"schema_version\":1", "\"schema_version\":2"));
    assertEquals(
        List.of("has no schema_version"), faults(row(START, null), "\"schema_version\":1,", ""));
    assertEquals(
        List.of("has no schema_version"),
        faults(row(START, null), "\"schema_version\":1", "\"schema_version\":\"1\""));
  }

  @Test
  void nameThatDoesNotFitStartAndZone_isAFault() {
    String otherwise =
        "has a billing period that does not start with its first date, at %s: %s"
            + " (2026-11-14T18:15:00Z to 2026-12-14T18:15:00Z, %s)";

    assertEquals(
        List.of(otherwise.formatted("2026-11-13T18:15:00Z", "2026-11-14", NEPAL)),
        faults(BillingPeriod.own("2026-11-14", NEPAL, PERIOD_START, PERIOD_END)));
    assertEquals(
        List.of(otherwise.formatted("2026-11-15T00:00:00Z", "2026-11-15", "UTC")),
        faults(BillingPeriod.own("2026-11-15", "UTC", PERIOD_START, PERIOD_END)));
    assertEquals(
        List.of(
            "has a billing period in an unknown time zone: 2026-11-15"
                + " (2026-11-14T18:15:00Z to 2026-12-14T18:15:00Z, Mars)"),
        faults(BillingPeriod.own("2026-11-15", "Mars", PERIOD_START, PERIOD_END)));
  }

  /** The recorded bounds stay right when a country changes its clocks later on. */
  @Test
  void startAnHourFromMidnight_isNoFault() {
    assertEquals(
        List.of(),
        faults(BillingPeriod.own("2026-11-15", NEPAL, PERIOD_START + 3_600_000, PERIOD_END)));
  }

  @Test
  void periodOfMoreThan32Days_isAFault() {
    long most = PERIOD_START + 32 * 86_400_000L;

    assertEquals(List.of(), faults(BillingPeriod.own("2026-11-15", NEPAL, PERIOD_START, most)));
    assertEquals(
        List.of(
            "has a billing period of more than 32 days: 2026-11-15"
                + " (2026-11-14T18:15:00Z to 2026-12-16T18:15:00.001Z, Asia/Kathmandu)"),
        faults(BillingPeriod.own("2026-11-15", NEPAL, PERIOD_START, most + 1)));
  }

  @Test
  void windowThatDoesNotStartInItsPeriod_isAFault() {
    assertEquals(
        List.of(
            "has a billing period in which its window does not start: 2026-11-15"
                + " (2026-11-14T18:15:00Z to 2026-12-14T18:15:00Z, Asia/Kathmandu)"),
        faults(row(PERIOD_END, nepal()), "", ""));
  }
}
