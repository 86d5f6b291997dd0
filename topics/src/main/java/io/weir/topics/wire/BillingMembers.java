// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.UsageWindow;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * The JSON members of a billing period in ledger rows and state records. A period of a client's own
 * calendar has a name, bounds and a zone. A UTC month has only a name or no members. Stateless and
 * thread-safe.
 */
final class BillingMembers {
  static final String NAME = "billing_period";
  private static final String START = "billing_period_start_ms";
  private static final String END = "billing_period_end_ms";
  private static final String ZONE = "billing_zone";

  private BillingMembers() {}

  /** Writes a period of a client's own calendar. */
  static void write(JsonGenerator json, BillingPeriod period) throws IOException {
    json.writeStringField(NAME, period.name());
    json.writeNumberField(START, period.startEpochMillis());
    json.writeNumberField(END, period.endEpochMillis());
    json.writeStringField(ZONE, period.timeZone());
  }

  /**
   * Returns the period of a ledger row or state record; null for the UTC month in which the window
   * starts.
   */
  static @Nullable BillingPeriod ofUsage(Members record, UsageWindow window)
      throws MalformedRecordException {
    if (record.has(ZONE)) {
      return BillingPeriod.own(
          record.text(NAME), record.text(ZONE), record.integer(START), record.integer(END));
    }
    if (!record.has(NAME)) {
      return null;
    }
    BillingPeriod month = BillingPeriod.utcMonth(record.text(NAME));
    return month.holds(window.startEpochMillis()) ? null : month;
  }
}
