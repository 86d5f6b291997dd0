// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.topics.model.BatchHeader;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Codec for the headers of a sealed batch, as text in wire version 1. The headers are {@code
 * weir-type} (always {@code calls}), {@code node, node_epoch, batch_seq, count, low_watermark_ms,
 * lines_before}. {@code lines_before_epoch} is absent if its value is 0, and {@code departing} is
 * absent if its value is false. Stateless and thread-safe.
 */
public final class BatchHeaderCodec {
  /** The header that states the type of a record. */
  public static final String TYPE_HEADER = "weir-type";

  /** The value of {@link #TYPE_HEADER} on a batch of calls. */
  public static final String TYPE = "calls";

  /** An integer of ASCII digits, without a plus sign. */
  private static final Pattern INTEGER = Pattern.compile("-?\\d{1,19}");

  private BatchHeaderCodec() {}

  /** Returns the headers, in the order in which they are written. */
  public static Map<String, byte[]> encode(BatchHeader header) {
    Map<String, byte[]> headers = new LinkedHashMap<>();
    headers.put(TYPE_HEADER, utf8(TYPE));
    headers.put("node", utf8(header.node()));
    headers.put("node_epoch", utf8(header.nodeEpoch()));
    headers.put("batch_seq", utf8(header.batchSequence()));
    headers.put("count", utf8(header.count()));
    headers.put("low_watermark_ms", utf8(header.lowWatermarkEpochMillis()));
    headers.put("lines_before", utf8(header.linesBefore()));
    if (header.linesBeforeEpoch() > 0) {
      headers.put("lines_before_epoch", utf8(header.linesBeforeEpoch()));
    }
    if (header.departing()) {
      headers.put("departing", utf8("true"));
    }
    return headers;
  }

  /**
   * Decodes the headers of a record.
   *
   * @param headers function that returns a header's value; null if the record has no such header
   * @throws MalformedRecordException if a header is missing or wrong; the message states the header
   */
  public static BatchHeader decode(Function<String, byte @Nullable []> headers)
      throws MalformedRecordException {
    String type = text(headers, TYPE_HEADER);
    if (!type.equals(TYPE)) {
      throw new MalformedRecordException(
          "header " + TYPE_HEADER + " must be '" + TYPE + "', but is '" + type + "'");
    }
    byte[] departing = headers.apply("departing");
    try {
      return new BatchHeader(
          text(headers, "node"),
          integer(headers, "node_epoch"),
          integer(headers, "batch_seq"),
          Math.toIntExact(integer(headers, "count")),
          integer(headers, "low_watermark_ms"),
          integer(headers, "lines_before"),
          headers.apply("lines_before_epoch") == null ? 0 : integer(headers, "lines_before_epoch"),
          departing != null && new String(departing, StandardCharsets.UTF_8).equals("true"));
    } catch (IllegalArgumentException | ArithmeticException badValue) {
      throw new MalformedRecordException("header " + badValue.getMessage(), badValue);
    }
  }

  private static byte[] utf8(Object value) {
    return value.toString().getBytes(StandardCharsets.UTF_8);
  }

  private static String text(Function<String, byte @Nullable []> headers, String name)
      throws MalformedRecordException {
    byte[] value = headers.apply(name);
    if (value == null) {
      throw new MalformedRecordException("header " + name + " is missing");
    }
    return new String(value, StandardCharsets.UTF_8);
  }

  private static long integer(Function<String, byte @Nullable []> headers, String name)
      throws MalformedRecordException {
    String text = text(headers, name);
    try {
      if (!INTEGER.matcher(text).matches()) {
        throw new MalformedRecordException("header " + name + " must be an integer");
      }
      return Long.parseLong(text);
    } catch (NumberFormatException notANumber) {
      throw new MalformedRecordException("header " + name + " must be an integer", notANumber);
    }
  }
}
