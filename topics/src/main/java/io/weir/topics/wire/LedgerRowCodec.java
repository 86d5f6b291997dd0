// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageWindow;
import java.io.IOException;
import java.time.Duration;

/**
 * Codec for ledger rows, as flat JSON. A row has wire version 2 if the client is billed by its own
 * calendar, otherwise version 1. In version 2, {@code billing_period} is a date, and the members
 * for its bounds and zone follow. {@link #decode} accepts both versions. Stateless and thread-safe.
 */
public final class LedgerRowCodec {
  private static final String CLOSE = "CLOSE";

  private LedgerRowCodec() {}

  /** Returns the JSON of a row. */
  public static byte[] encode(LedgerRow row) {
    if (row instanceof UsageRow usage) {
      return Json.object(json -> writeUsage(json, usage));
    }
    CloseRow close = (CloseRow) row;
    return Json.object(json -> writeClose(json, close));
  }

  private static void writeUsage(JsonGenerator json, UsageRow row) throws IOException {
    BillingPeriod period = row.billingPeriod();
    json.writeNumberField(
        "schema_version",
        period.isUtcMonth() ? LedgerRow.SCHEMA_VERSION : LedgerRow.SCHEMA_VERSION_OF_CALENDARS);
    json.writeStringField("record_id", row.recordId());
    json.writeStringField("record_type", row.type().name());
    json.writeNumberField("revision", row.revision());
    String previous = row.previousRecordId();
    if (previous != null) {
      json.writeStringField("previous_record_id", previous);
    }
    UsageRow.Reason reason = row.reason();
    if (reason != null) {
      json.writeStringField("reason", reason.name());
    }
    UsageRecordMembers.writeKeyAndWindow(json, row.key(), row.window());
    json.writeStringField("window", Duration.ofMillis(row.window().sizeMillis()).toString());
    if (period.isUtcMonth()) {
      json.writeStringField(BillingMembers.NAME, period.name());
    } else {
      BillingMembers.write(json, period);
    }
    UsageRecordMembers.writeCount(json, row.count());
    json.writeNumberField("quantity_total", row.quantityTotal());
    json.writeNumberField("input_partition", row.inputPartition());
    json.writeNumberField("closed_through_ms", row.closedThroughEpochMillis());
    json.writeBooleanField("complete", row.complete());
    json.writeNumberField("emitted_at_ms", row.emittedAtEpochMillis());
  }

  private static void writeClose(JsonGenerator json, CloseRow row) throws IOException {
    json.writeNumberField("schema_version", LedgerRow.SCHEMA_VERSION);
    json.writeStringField("record_id", row.recordId());
    json.writeStringField("record_type", CLOSE);
    json.writeNumberField("input_partition", row.inputPartition());
    json.writeNumberField("closed_through_ms", row.closedThroughEpochMillis());
    json.writeNumberField("rows", row.rows());
    json.writeNumberField("quantity_total", row.quantityTotal());
    json.writeBooleanField("complete", row.complete());
    json.writeNumberField("emitted_at_ms", row.emittedAtEpochMillis());
  }

  /**
   * Decodes a row.
   *
   * @throws MalformedRecordException if the bytes are not a ledger row
   */
  public static LedgerRow decode(byte[] bytes) throws MalformedRecordException {
    return Members.decode(
        bytes,
        "ledger row",
        row -> row.text("record_type").equals(CLOSE) ? close(row) : usage(row));
  }

  private static CloseRow close(Members row) throws MalformedRecordException {
    return new CloseRow(
        row.smallInteger("input_partition"),
        row.integer("closed_through_ms"),
        row.integer("rows"),
        row.integer("quantity_total"),
        row.bool("complete"),
        row.integer("emitted_at_ms"));
  }

  private static UsageRow usage(Members row) throws MalformedRecordException {
    String reason = row.textOrNull("reason");
    UsageWindow window = UsageRecordMembers.window(row);
    return new UsageRow(
        UsageRecordMembers.key(row),
        window,
        UsageRow.Type.valueOf(row.text("record_type")),
        row.integer("revision"),
        row.textOrNull("previous_record_id"),
        reason == null ? null : UsageRow.Reason.valueOf(reason),
        UsageRecordMembers.count(row),
        row.integer("quantity_total"),
        row.smallInteger("input_partition"),
        row.integer("closed_through_ms"),
        row.bool("complete"),
        row.integer("emitted_at_ms"),
        BillingMembers.ofUsage(row, window));
  }
}
