// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;

/**
 * What a row must say of its version and its billing period, by the table in docs/topics, whether
 * the calls say the same or not: a billing job goes by the version. Stateless and thread-safe.
 */
final class RowForm {
  /** A month, and a day for clocks that are changed. */
  private static final long LONGEST_PERIOD_MILLIS = 32 * 86_400_000L;

  /** The zone's rules may have changed since the row was written, which moves clocks by so much. */
  private static final long CHANGE_OF_RULES_MILLIS = 3_600_000;

  private static final long OF_MONTHS = 1;
  private static final long OF_CALENDARS = 2;
  private static final String VERSION = "schema_version";
  private static final JsonFactory JSON = new JsonFactory();

  private RowForm() {}

  /**
   * Returns what is wrong with a row, one ending of a sentence each.
   *
   * @param bytes the row as it stands in the ledger
   * @param row the same, decoded
   */
  static List<String> faults(byte[] bytes, LedgerRow row) {
    List<String> faults = new ArrayList<>();
    long version = version(bytes);
    if (version != OF_MONTHS && (version != OF_CALENDARS || row instanceof CloseRow)) {
      faults.add("has " + (version < 0 ? "no " + VERSION : VERSION + " " + version));
    }
    if (row instanceof UsageRow usage) {
      BillingPeriod period = usage.billingPeriod();
      boolean isDated = !period.isUtcMonth();
      if (version == (isDated ? OF_MONTHS : OF_CALENDARS)) {
        faults.add(
            "has "
                + VERSION
                + " "
                + version
                + ", and the billing period "
                + period.name()
                + ", which is "
                + (isDated ? "a date" : "a month"));
      }
      if (isDated) {
        addFaults(period, usage.window().startEpochMillis(), faults);
      }
    }
    return faults;
  }

  private static void addFaults(BillingPeriod period, long windowStart, List<String> faults) {
    String text = Billed.text(period);
    if (period.endEpochMillis() - period.startEpochMillis() > LONGEST_PERIOD_MILLIS) {
      faults.add("has a billing period of more than 32 days: " + text);
    }
    if (!period.holds(windowStart)) {
      faults.add("has a billing period in which its window does not start: " + text);
    }
    try {
      ZoneId zone = ZoneId.of(period.timeZone());
      long midnight = LocalDate.parse(period.name()).atStartOfDay(zone).toInstant().toEpochMilli();
      if (Math.abs(midnight - period.startEpochMillis()) > CHANGE_OF_RULES_MILLIS) {
        faults.add(
            "has a billing period that does not start with its first date, at "
                + Instant.ofEpochMilli(midnight)
                + ": "
                + text);
      }
    } catch (DateTimeException unknown) {
      faults.add("has a billing period in a time zone that is not known here: " + text);
    }
  }

  /** Returns the version; −1 if the row says none. */
  private static long version(byte[] bytes) {
    try (JsonParser json = JSON.createParser(bytes)) {
      json.nextToken();
      String name;
      while ((name = json.nextFieldName()) != null) {
        JsonToken value = json.nextToken();
        if (name.equals(VERSION)) {
          return value == JsonToken.VALUE_NUMBER_INT ? json.getLongValue() : -1;
        }
        json.skipChildren();
      }
    } catch (IOException notReadable) {
      // the row was decoded, so it is JSON: the number is out of range
    }
    return -1;
  }
}
