// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.clients;

import io.weir.limits.BillingCalendar;
import io.weir.limits.BillingPeriod;
import io.weir.limits.ClientCalendar;
import io.weir.limits.policy.ClientSettings;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Describes how a change of a client's calendar affects its bills. */
final class BillingChange {
  private BillingChange() {}

  /**
   * Returns one line for the old billing period and one for the new period.
   *
   * @param before the client's settings before the change; null if there were none
   * @param after the client's settings after the change; null if there are none
   * @param epochMillis the time of the change
   * @return an empty list if the billing period stays the same
   */
  static List<String> describe(
      @Nullable ClientSettings before, @Nullable ClientSettings after, long epochMillis) {
    BillingCalendar old = calendar(before);
    BillingCalendar now = calendar(after);
    BillingPeriod left = running(old, epochMillis);
    BillingPeriod begun = running(now, epochMillis);
    if (left.equals(begun)) {
      return List.of();
    }
    return List.of(
        "the client was billed by %s: the current period was %s, and keeps the calls counted so far"
            .formatted(describe(old), describe(left)),
        "the client is billed by %s: the current period is %s, for all calls from now on"
            .formatted(describe(now), describe(begun)));
  }

  private static @Nullable BillingCalendar calendar(@Nullable ClientSettings settings) {
    return BillingCalendar.of(settings == null ? ClientCalendar.OF_POLICY : settings.calendar());
  }

  private static BillingPeriod running(@Nullable BillingCalendar calendar, long epochMillis) {
    return calendar == null
        ? BillingPeriod.utcMonthHolding(epochMillis)
        : calendar.at(epochMillis).period();
  }

  private static String describe(@Nullable BillingCalendar calendar) {
    return calendar == null ? "the months of UTC" : calendar.describe();
  }

  private static String describe(BillingPeriod period) {
    return "%s (%s to %s)"
        .formatted(
            period.name(),
            Instant.ofEpochMilli(period.startEpochMillis()),
            Instant.ofEpochMilli(period.endEpochMillis()));
  }
}
