// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * The cursor of the next page of a report. The cursor contains the interval of the first page, the
 * last row, and the position of the first page. The next page must include at least the calls up to
 * this position.
 *
 * @param from start of the report, inclusive
 * @param to end of the report, exclusive
 * @param offset offset in the calls topic up to which the first page includes calls
 * @param lastBucketStart start of the bucket of the last row
 * @param lastEndpoint endpoint of the last row; empty if rows have no endpoint. If rows are billing
 *     periods, the period precedes the endpoint, because several periods may start at the same time
 */
record PageCursor(
    Instant from, Instant to, long offset, Instant lastBucketStart, String lastEndpoint) {
  private static final String VERSION = "1";
  private static final int PARTS = 6;

  /** Parses the text form. Returns null if the text is malformed. */
  static @Nullable PageCursor parse(String text) {
    try {
      String plain = new String(Base64.getUrlDecoder().decode(text), StandardCharsets.UTF_8);
      String[] parts = plain.split(":", PARTS);
      if (parts.length != PARTS || !parts[0].equals(VERSION)) {
        return null;
      }
      return new PageCursor(
          Instant.ofEpochMilli(Long.parseLong(parts[1])),
          Instant.ofEpochMilli(Long.parseLong(parts[2])),
          Long.parseLong(parts[3]),
          Instant.ofEpochMilli(Long.parseLong(parts[4])),
          parts[5]);
    } catch (IllegalArgumentException notACursor) {
      return null;
    }
  }

  @Override
  public String toString() {
    String plain =
        String.join(
            ":",
            VERSION,
            Long.toString(from.toEpochMilli()),
            Long.toString(to.toEpochMilli()),
            Long.toString(offset),
            Long.toString(lastBucketStart.toEpochMilli()),
            lastEndpoint);
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(plain.getBytes(StandardCharsets.UTF_8));
  }

  /** Returns whether a row follows the last row of the previous page. */
  boolean isBefore(Instant bucketStart, String endpoint) {
    int order = lastBucketStart.compareTo(bucketStart);
    return order < 0 || (order == 0 && lastEndpoint.compareTo(endpoint) < 0);
  }
}
