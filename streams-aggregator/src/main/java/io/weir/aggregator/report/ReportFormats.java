// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.limits.BillingPeriod;
import io.weir.limits.ZoneData;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Functions that format reports as JSON, CSV (RFC 4180) and NDJSON. Stateless and thread-safe. */
final class ReportFormats {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /**
   * A field with one of these characters must be quoted. In some locales, semicolons separate cells
   * because the comma is the decimal separator.
   */
  private static final String QUOTED = ",;|\t\r\n\"";

  /**
   * The beginning of a text that a spreadsheet may interpret as a formula. The sign can be a
   * full-width sign. Spaces and quotes can precede the sign.
   */
  private static final Pattern FORMULA =
      Pattern.compile("(^|[,;|\\t\\r\\n])([\\s\\h\"]*[=+\\-@\uFF1D\uFF0B\uFF0D\uFF20])");

  private static final String BILLING_COLUMNS =
      ",billing_period,billing_period_start_ms,billing_period_end_ms,billing_zone";

  private ReportFormats() {}

  static byte[] json(Object value) {
    try {
      return MAPPER.writeValueAsBytes(value);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException("cannot write a report as JSON", impossible);
    }
  }

  static Map<String, Object> members(UsageQuery query, UsageReport.Row row) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("from", row.from().toString());
    members.put("to", row.to().toString());
    members.put("status", row.isFinal() ? "final" : "running");
    members.put("complete", row.complete());
    members.put("revision", row.revision());
    members.put("quantity", row.quantity());
    members.put("allowed", row.allowed());
    members.put("denied", row.denied());
    members.put("fail_open", row.failOpen());
    BillingPeriod period = row.period();
    if (period != null) {
      members.put("billing_period", period.name());
      members.put("billing_period_start_ms", period.startEpochMillis());
      members.put("billing_period_end_ms", period.endEpochMillis());
      members.put("billing_zone", period.timeZone());
    }
    if (query.byEndpoint()) {
      members.put("endpoint", row.endpoint());
      if (row.others()) {
        members.put("others", true);
      }
    }
    return members;
  }

  static byte[] document(
      UsageQuery query,
      UsageReport report,
      List<UsageReport.Row> rows,
      Map<String, Object> completeness,
      @Nullable PageCursor next) {
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("client", query.client());
    document.put("from", query.from().toString());
    document.put("to", query.to().toString());
    document.put("window", query.window());
    document.put("tz", query.zone().getId());
    document.put("zone_data", ZoneData.version());
    document.put("meter", query.meter());
    document.put("unit", report.unit());
    document.put("scale", 0);
    document.put("data", rows.stream().map(row -> members(query, row)).toList());
    document.put("completeness", completeness);
    document.put("has_more", next != null);
    if (next != null) {
      document.put("next_page", next.toString());
    }
    return json(document);
  }

  static byte[] ndjson(UsageQuery query, List<UsageReport.Row> rows) {
    StringBuilder lines = new StringBuilder();
    for (UsageReport.Row row : rows) {
      lines.append(new String(json(members(query, row)), StandardCharsets.UTF_8)).append('\n');
    }
    return lines.toString().getBytes(StandardCharsets.UTF_8);
  }

  static byte[] csv(UsageQuery query, List<UsageReport.Row> rows) {
    StringBuilder lines =
        new StringBuilder("client,meter,from,to,status,complete,revision,quantity,allowed");
    lines
        .append(",denied,fail_open")
        .append(query.byBillingPeriod() ? BILLING_COLUMNS : "")
        .append(query.byEndpoint() ? ",endpoint,others\r\n" : "\r\n");
    for (UsageReport.Row row : rows) {
      lines.append(quoted(query.client())).append(',').append(quoted(query.meter()));
      Map<String, Object> members = members(query, row);
      if (query.byEndpoint()) {
        members.putIfAbsent("others", false);
      }
      members.forEach(
          (name, value) ->
              lines.append(',').append(value instanceof String text ? quoted(text) : value));
      lines.append("\r\n");
    }
    return lines.toString().getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Returns a CSV field, quoted if necessary. If a spreadsheet could interpret a part of the field
   * as a formula, an apostrophe before the part marks the part as text. The part can begin at the
   * start of the field, or after a character that separates cells in some locale or setting. Quotes
   * in the middle of a cell do not prevent the separation of cells.
   */
  private static String quoted(String field) {
    String safe = FORMULA.matcher(field).replaceAll("$1'$2");
    boolean plain = safe.chars().noneMatch(c -> QUOTED.indexOf(c) >= 0);
    return plain ? safe : '"' + safe.replace("\"", "\"\"") + '"';
  }
}
