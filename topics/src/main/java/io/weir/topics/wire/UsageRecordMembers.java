// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageWindow;
import java.io.IOException;
import java.util.HexFormat;

/**
 * The JSON members that ledger rows and state records have in common. Stateless and thread-safe.
 */
final class UsageRecordMembers {
  /** Decimal places of quantities: 0, because quantities are whole units. */
  private static final int SCALE = 0;

  private UsageRecordMembers() {}

  static void writeKeyAndWindow(JsonGenerator json, UsageKey key, UsageWindow window)
      throws IOException {
    json.writeStringField("client", key.client());
    json.writeStringField("meter", key.meter());
    json.writeStringField("endpoint", key.endpoint());
    if (key.others()) {
      json.writeBooleanField("others", true);
    }
    json.writeStringField("unit", key.unit());
    json.writeNumberField("scale", SCALE);
    json.writeNumberField("window_start_ms", window.startEpochMillis());
    json.writeNumberField("window_end_ms", window.endEpochMillis());
  }

  static UsageKey key(Members record) throws MalformedRecordException {
    return new UsageKey(
        record.text("client"),
        record.text("meter"),
        record.text("endpoint"),
        record.has("others") && record.bool("others"));
  }

  static UsageWindow window(Members record) throws MalformedRecordException {
    return new UsageWindow(record.integer("window_start_ms"), record.integer("window_end_ms"));
  }

  static void writeCount(JsonGenerator json, UsageCount count) throws IOException {
    json.writeNumberField("quantity", count.quantity());
    json.writeNumberField("calls_allowed", count.callsAllowed());
    json.writeNumberField("calls_denied", count.callsDenied());
    json.writeNumberField("calls_fail_open", count.callsFailOpen());
    json.writeNumberField("duplicates_dropped", count.duplicatesDropped());
    json.writeNumberField("late_count", count.lateCount());
    json.writeNumberField("first_offset", count.firstOffset());
    json.writeNumberField("last_offset", count.lastOffset());
    json.writeNumberField("event_count", count.eventCount());
    json.writeStringField("events_digest", HexFormat.of().toHexDigits(count.eventsDigest()));
    json.writeNumberField("policies_version", count.policiesVersion());
  }

  static UsageCount count(Members record) throws MalformedRecordException {
    return new UsageCount(
        record.integer("quantity"),
        record.integer("calls_allowed"),
        record.integer("calls_denied"),
        record.integer("calls_fail_open"),
        record.integer("duplicates_dropped"),
        record.integer("late_count"),
        record.integer("event_count"),
        record.integer("first_offset"),
        record.integer("last_offset"),
        HexFormat.fromHexDigitsToLong(record.text("events_digest")),
        record.integer("policies_version"));
  }
}
