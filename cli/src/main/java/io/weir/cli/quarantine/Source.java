// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import java.util.Comparator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The place in the calls topic at which a line or a whole record was first refused. Written {@code
 * partition@offset:line}, without the line for a record.
 *
 * @param line from 1; 0 for the whole record
 */
record Source(int partition, long offset, int line) implements Comparable<Source> {
  private static final Pattern FORM = Pattern.compile("(\\d{1,6})@(\\d{1,15})(?::(\\d{1,8}))?");

  private static final Comparator<Source> ORDER =
      Comparator.comparingInt(Source::partition)
          .thenComparingLong(Source::offset)
          .thenComparingInt(Source::line);

  /** Parses the written form; returns null if the text is malformed. */
  public static @Nullable Source parse(String text) {
    Matcher form = FORM.matcher(text);
    if (!form.matches()) {
      return null;
    }
    String line = form.group(3);
    return new Source(
        Integer.parseInt(form.group(1)),
        Long.parseLong(form.group(2)),
        line == null ? 0 : Integer.parseInt(line));
  }

  /**
   * Returns whether another source equals this source, or is a line of the record at this source.
   */
  public boolean holds(Source other) {
    return partition == other.partition
        && offset == other.offset
        && (line == 0 || line == other.line);
  }

  @Override
  public int compareTo(Source other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return partition + "@" + offset + (line == 0 ? "" : ":" + line);
  }
}
