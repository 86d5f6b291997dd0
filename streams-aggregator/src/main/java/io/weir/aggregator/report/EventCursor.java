// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The cursor of the next page of an event list. The cursor contains the interval of the first page,
 * the next line, and the state of each journal. With this state, the pages list each batch only
 * once, even if a node sends the batch again after the end of a page.
 *
 * @param fromEpochMillis start of the list's interval, inclusive
 * @param toEpochMillis end of the list's interval, exclusive
 * @param offset offset of the next record
 * @param line number of lines of the next record that were already processed
 * @param trails the text form of each journal's {@link BatchTrail}
 */
record EventCursor(
    long fromEpochMillis,
    long toEpochMillis,
    long offset,
    int line,
    Map<BatchTrail.Journal, String> trails) {
  private static final String VERSION = "e1";
  private static final int PARTS = 6;

  /** End of the year 9999. */
  private static final long MAX_EPOCH_MILLIS = 253_402_300_800_000L;

  EventCursor {
    trails = Map.copyOf(trails);
  }

  /** Parses the text form. Returns null if the text is malformed. */
  static @Nullable EventCursor parse(String text) {
    try {
      String plain = new String(Base64.getUrlDecoder().decode(text), StandardCharsets.UTF_8);
      String[] parts = plain.split(":", PARTS);
      if (parts.length != PARTS || !parts[0].equals(VERSION)) {
        return null;
      }
      Map<BatchTrail.Journal, String> trails = new LinkedHashMap<>();
      if (!parts[5].isEmpty()) {
        for (String entry : parts[5].split(",", EventScan.MAX_JOURNALS + 1)) {
          String[] trail = entry.split("/", -1);
          BatchTrail known = BatchTrail.parse(trail[2]);
          trails.put(new BatchTrail.Journal(trail[0], Long.parseLong(trail[1])), known.toString());
        }
      }
      EventCursor cursor =
          new EventCursor(
              Long.parseLong(parts[1]),
              Long.parseLong(parts[2]),
              Long.parseLong(parts[3]),
              Integer.parseInt(parts[4]),
              trails);
      return cursor.isPossible() ? cursor : null;
    } catch (IllegalArgumentException | IndexOutOfBoundsException notACursor) {
      return null;
    }
  }

  private boolean isPossible() {
    return offset >= 0
        && line >= 0
        && fromEpochMillis >= 0
        && fromEpochMillis < toEpochMillis
        && toEpochMillis <= MAX_EPOCH_MILLIS;
  }

  @Override
  public String toString() {
    StringBuilder plain = new StringBuilder(VERSION);
    plain.append(':').append(fromEpochMillis).append(':').append(toEpochMillis);
    plain.append(':').append(offset).append(':').append(line).append(':');
    String separator = "";
    for (var trail : trails.entrySet()) {
      plain.append(separator).append(trail.getKey().node()).append('/');
      plain.append(trail.getKey().epoch()).append('/').append(trail.getValue());
      separator = ",";
    }
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(plain.toString().getBytes(StandardCharsets.UTF_8));
  }
}
