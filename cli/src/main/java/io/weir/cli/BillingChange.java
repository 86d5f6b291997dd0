// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import io.weir.limits.BillingCalendar;
import io.weir.limits.BillingPeriod;
import io.weir.limits.ClientCalendar;
import io.weir.limits.policy.ClientSettings;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a change of a client's calendar does to its bill, in words. */
final class BillingChange {
  private BillingChange() {}

  /**
   * Returns a line for what runs out, and for what runs instead.
   *
   * @param before what was set for the client; null for nothing
   * @param after what is set now; null for nothing
   * @param epochMillis when it was changed
   * @return no line if the same period runs on
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
        "the client was billed by %s: the running period was %s, and keeps what is counted in it"
            .formatted(describe(old), describe(left)),
        "the client is billed by %s: the running period is %s, of what is decided from now on"
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
