// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.cli.records.Billed;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks the form of a row by the table in docs/topics, independently of the calls. It checks the
 * version, on which billing jobs rely, the billing period, and the members that follow from other
 * members. Stateless and thread-safe.
 */
final class RowForm {
  /** Maximum length of a billing period: a month, plus a day for changes of the clock. */
  private static final long LONGEST_PERIOD_MILLIS = 32 * 86_400_000L;

  /** Tolerance for changes of the time zone's rules after the row was written. */
  private static final long CHANGE_OF_RULES_MILLIS = 3_600_000;

  private static final long OF_MONTHS = 1;
  private static final long OF_CALENDARS = 2;
  private static final String VERSION = "schema_version";
  private static final JsonFactory JSON = new JsonFactory();

  private RowForm() {}

  /**
   * Returns the faults in the version and the billing period of a row. Each fault is the end of a
   * sentence.
   *
   * @param bytes the row as stored in the ledger
   * @param row the same row, decoded
   */
  static List<String> faults(byte[] bytes, LedgerRow row) {
    List<String> faults = new ArrayList<>();
    String stated = members(bytes).getOrDefault(VERSION, "");
    long version = stated.matches("\\d{1,18}") ? Long.parseLong(stated) : -1;
    if (version != OF_MONTHS && (version != OF_CALENDARS || row instanceof CloseRow)) {
      faults.add("has " + (version < 0 ? "no " + VERSION : VERSION + " " + version));
    }
    if (row instanceof UsageRow usage) {
      BillingPeriod period = usage.billingPeriod();
      boolean isDated = !period.isUtcMonth();
      if (version == (isDated ? OF_MONTHS : OF_CALENDARS)) {
        faults.add(
            "has %s %d, and the billing period %s, which is %s"
                .formatted(VERSION, version, period.name(), isDated ? "a date" : "a month"));
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
            "has a billing period that does not start with its first date, at %s: %s"
                .formatted(Instant.ofEpochMilli(midnight), text));
      }
    } catch (DateTimeException unknown) {
      faults.add("has a billing period in an unknown time zone: " + text);
    }
  }

  /**
   * Returns the faults in the members that follow from other members: record ids, unit, scale,
   * length of the window, number of calls, billing month. A member that this type of row does not
   * have is also a fault.
   */
  static List<String> memberFaults(byte[] bytes, LedgerRow row) {
    Map<String, String> found = members(bytes);
    Map<String, String> expected = members(LedgerRowCodec.encode(row));
    List<String> faults = new ArrayList<>();
    found.forEach(
        (member, value) -> {
          String right = expected.get(member);
          if (!value.equals(right)) {
            String rule = right == null ? ", which this row must not have" : " instead of " + right;
            faults.add("has " + member + " " + value + rule);
          }
        });
    expected.forEach(
        (member, value) -> {
          if (!found.containsKey(member)) {
            faults.add("has no " + member + "; expected is " + value);
          }
        });
    return faults;
  }

  /** Returns the members as in the record; strings keep their quotation marks. */
  private static Map<String, String> members(byte[] bytes) {
    Map<String, String> members = new LinkedHashMap<>();
    try (JsonParser json = JSON.createParser(bytes)) {
      json.nextToken();
      String name;
      while ((name = json.nextFieldName()) != null) {
        boolean isText = json.nextToken() == JsonToken.VALUE_STRING;
        members.put(name, isText ? '"' + json.getText() + '"' : json.getText());
        json.skipChildren();
      }
    } catch (IOException notReadable) {
      throw new UncheckedIOException("the row was decoded before", notReadable);
    }
    return members;
  }
}
