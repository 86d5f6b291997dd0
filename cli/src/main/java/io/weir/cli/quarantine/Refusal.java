// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.topics.log.HeaderValues;
import io.weir.topics.wire.QuarantineHeaders;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;

/**
 * A refused line or whole record in the quarantine. The parts of a split record are joined.
 *
 * @param partition partition of the record in the quarantine, and of the refused record in the
 *     calls topic
 * @param offset offset of the record in the quarantine; of its last part if the record was split
 * @param sourceOffset offset of the refused record in the calls topic
 * @param line number of the line in the refused record, from 1; 0 for the whole record
 * @param refusedAtEpochMillis the broker's time of the record in the quarantine
 * @param headers the original headers, and the headers that the quarantine adds
 * @param isWhole whether all parts are present
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never modified
record Refusal(
    int partition,
    long offset,
    long sourceOffset,
    int line,
    long refusedAtEpochMillis,
    String reason,
    Headers headers,
    byte[] value,
    boolean isWhole) {
  private static final Pattern SOURCE = Pattern.compile("weir\\.calls\\.v1-\\d{1,6}-(\\d{1,18})");
  private static final Pattern LINE = Pattern.compile("\\d{1,9}");

  /** Reads a record of the quarantine; returns null if it does not identify the refused record. */
  static @Nullable Refusal of(
      ConsumerRecord<@Nullable String, byte @Nullable []> record, byte[] value, boolean isWhole) {
    Matcher source = SOURCE.matcher(text(record.headers(), QuarantineHeaders.SOURCE));
    String line = text(record.headers(), QuarantineHeaders.LINE);
    if (!source.matches() || (!line.isEmpty() && !LINE.matcher(line).matches())) {
      return null;
    }
    return new Refusal(
        record.partition(),
        record.offset(),
        Long.parseLong(source.group(1)),
        line.isEmpty() ? 0 : Integer.parseInt(line),
        record.timestamp(),
        text(record.headers(), QuarantineHeaders.REASON),
        record.headers(),
        value,
        isWhole);
  }

  /** Returns the text of a header, or an empty string if it is absent. */
  static String text(Headers headers, String name) {
    return Objects.requireNonNullElse(HeaderValues.text(headers, name), "");
  }
}
