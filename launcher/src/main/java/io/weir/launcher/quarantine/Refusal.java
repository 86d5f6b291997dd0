// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.quarantine;

import io.weir.topics.wire.QuarantineHeaders;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;

/**
 * A line or a whole record as it stands in the quarantine; of one in several parts all together.
 *
 * @param partition of the quarantine, and of the calls topic: where it was refused
 * @param offset in the quarantine; of the last part
 * @param sourceOffset of the record of the calls topic
 * @param line in that record, from 1; 0 for the whole record
 * @param refusedAtEpochMillis the broker's time of that record
 * @param headers as they came, and those of the quarantine
 * @param isWhole whether all its parts are there
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
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

  /** Reads a record of the quarantine; null when it does not say what it is. */
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

  /** The value of a header; null when there is none of that name. */
  byte @Nullable [] header(String name) {
    Header header = headers.lastHeader(name);
    return header == null ? null : header.value();
  }

  /** The text of a header; empty when there is none of that name. */
  static String text(Headers headers, String name) {
    Header header = headers.lastHeader(name);
    return header == null || header.value() == null
        ? ""
        : new String(header.value(), StandardCharsets.UTF_8);
  }
}
