// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.limits.ClientCalendar;
import io.weir.limits.policy.ClientSettings;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The description of a billing change by {@code weir clients set}. */
final class BillingChangeTest {
  private static final long NOW = Instant.parse("2027-03-29T10:00:00Z").toEpochMilli();

  private static ClientSettings paris(int day) {
    return ClientSettings.of(
        new ClientCalendar(ZoneId.of("Europe/Paris"), LocalDate.of(2026, 1, day)));
  }

  @Test
  void calendarChangedInMidPeriod_describesBothPeriods() {
    assertEquals(
        List.of(
            "the client was billed by months from day 28 in Europe/Paris: the current period was"
                + " 2027-03-28 (2027-03-27T23:00:00Z to 2027-04-27T22:00:00Z), and keeps the"
                + " calls counted so far",
            "the client is billed by months from day 31 in Europe/Paris: the current period is"
                + " 2027-02-28 (2027-02-27T23:00:00Z to 2027-03-30T22:00:00Z), for all calls from"
                + " now on"),
        BillingChange.describe(paris(28), paris(31), NOW));
  }

  @Test
  void calendarSetOrRemoved_describesTheUtcMonth() {
    String month = "2027-03 (2027-03-01T00:00:00Z to 2027-04-01T00:00:00Z)";

    assertEquals(
        "the client was billed by the months of UTC: the current period was "
            + month
            + ", and keeps the calls counted so far",
        BillingChange.describe(null, paris(28), NOW).get(0));
    assertEquals(
        "the client is billed by the months of UTC: the current period is "
            + month
            + ", for all calls from now on",
        BillingChange.describe(paris(28), ClientSettings.NONE, NOW).get(1));
  }

  @Test
  void unchangedPeriod_isNotDescribed() {
    ClientSettings sameDay =
        new ClientSettings(
            new ClientCalendar(ZoneId.of("Europe/Paris"), LocalDate.of(2027, 12, 28)),
            "gold",
            paris(28).limits());

    assertEquals(List.of(), BillingChange.describe(paris(28), sameDay, NOW));
    assertEquals(List.of(), BillingChange.describe(null, ClientSettings.NONE, NOW));
  }
}
