// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingCalendar;
import io.weir.limits.BillingPeriod;
import io.weir.limits.ClientCalendar;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class BillingCacheTest {
  private static final long NOW = Instant.parse("2026-11-20T12:00:00Z").toEpochMilli();

  private final BillingCache cache = new BillingCache();

  private BilledIn get(BilledIn billed) {
    BillingPeriod period = billed.period();
    BillingPeriod before = billed.before();
    return Objects.requireNonNull(
        cache.get(
            period.name(),
            period.timeZone(),
            period.startEpochMillis(),
            period.endEpochMillis(),
            before == null ? "" : before.name(),
            before == null ? 0 : before.startEpochMillis()));
  }

  /**
   * Regression: with 256 slots, a thousand calendars in turn were validated again at nearly every
   * call.
   */
  @Test
  @SuppressWarnings("ReferenceEquality") // a period validated again is equal, but another object
  void get_aThousandCalendarsInTurn_areMostlyKept() {
    List<BilledIn> calendars = new ArrayList<>();
    for (String zone : ZoneId.getAvailableZoneIds().stream().sorted().limit(250).toList()) {
      for (int day : List.of(2, 10, 15, 28)) {
        BillingCalendar calendar =
            BillingCalendar.of(new ClientCalendar(ZoneId.of(zone), LocalDate.of(2026, 1, day)));
        assertNotNull(calendar);
        calendars.add(calendar.at(NOW));
      }
    }
    List<BilledIn> first = calendars.stream().map(this::get).toList();
    long kept = 0;
    for (int i = 0; i < first.size(); i++) {
      kept += get(calendars.get(i)) == first.get(i) ? 1 : 0;
    }

    assertTrue(kept >= 700, kept + " of " + first.size() + " are kept");
  }
}
