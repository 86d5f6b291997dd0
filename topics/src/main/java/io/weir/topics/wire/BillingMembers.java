// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.UsageWindow;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * The JSON members of a billing period in call lines, ledger rows and state records. A period of a
 * client's own calendar has a name, bounds and a zone. A UTC month has only a name or no members.
 * Not thread-safe.
 */
final class BillingMembers {
  static final String NAME = "billing_period";
  private static final String START = "billing_period_start_ms";
  private static final String END = "billing_period_end_ms";
  private static final String ZONE = "billing_zone";
  private static final String BEFORE = "billing_period_before";
  private static final String BEFORE_START = "billing_period_before_start_ms";

  private @Nullable String name;
  private @Nullable String zone;
  private @Nullable Long start;
  private @Nullable Long end;
  private @Nullable String before;
  private @Nullable Long beforeStart;

  /** Writes a period of a client's own calendar. */
  static void write(JsonGenerator json, BillingPeriod period) throws IOException {
    json.writeStringField(NAME, period.name());
    json.writeNumberField(START, period.startEpochMillis());
    json.writeNumberField(END, period.endEpochMillis());
    json.writeStringField(ZONE, period.timeZone());
  }

  /**
   * Reads the current member of a call line; returns false if the member does not belong to a
   * billing period.
   */
  boolean read(JsonParser json, String member) throws IOException, MalformedRecordException {
    switch (member) {
      case NAME -> name = Json.text(json, member);
      case START -> start = Json.integer(json, member);
      case END -> end = Json.integer(json, member);
      case ZONE -> zone = Json.text(json, member);
      case BEFORE -> before = Json.text(json, member);
      case BEFORE_START -> beforeStart = Json.integer(json, member);
      default -> {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns the billing period of a call line; null if the line has no members of a billing period.
   *
   * @throws IllegalArgumentException if the values do not form a billing period
   */
  @Nullable BilledIn billedIn() throws MalformedRecordException {
    if (name == null
        && start == null
        && end == null
        && zone == null
        && before == null
        && beforeStart == null) {
      return null;
    }
    BillingPeriod period = own(present(name, NAME), zone, start, end);
    return new BilledIn(
        period,
        before == null && beforeStart == null
            ? null
            : own(present(before, BEFORE), zone, beforeStart, start));
  }

  private static BillingPeriod own(
      String name, @Nullable String zone, @Nullable Long start, @Nullable Long end)
      throws MalformedRecordException {
    return BillingPeriod.own(name, present(zone, ZONE), present(start, START), present(end, END));
  }

  /**
   * Returns the period of a ledger row or state record; null for the UTC month in which the window
   * starts.
   */
  static @Nullable BillingPeriod ofUsage(Members record, UsageWindow window)
      throws MalformedRecordException {
    if (record.has(ZONE)) {
      return own(record.text(NAME), record.text(ZONE), record.integer(START), record.integer(END));
    }
    if (!record.has(NAME)) {
      return null;
    }
    BillingPeriod month = BillingPeriod.utcMonth(record.text(NAME));
    return month.holds(window.startEpochMillis()) ? null : month;
  }

  private static <T> T present(@Nullable T value, String member) throws MalformedRecordException {
    if (value == null) {
      throw new MalformedRecordException(member + " is missing");
    }
    return value;
  }
}
