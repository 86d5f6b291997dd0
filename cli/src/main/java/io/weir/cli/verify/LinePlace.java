// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.nio.ByteBuffer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The place of a line in {@code weir.calls.v1}.
 *
 * @param offset offset of the record
 * @param line number of the line in the record, from 1; 0 for the whole record
 */
record LinePlace(int partition, long offset, int line) {
  private static final int BYTES = 2 * Integer.BYTES + Long.BYTES;
  private static final Pattern HEADER = Pattern.compile("(\\d{1,6})@(\\d{1,15})");
  private static final Pattern SOURCE = Pattern.compile("weir\\.calls\\.v1-(\\d{1,6})-(\\d{1,18})");

  /** Reads {@code partition@offset}; returns null if the text has another form. */
  static @Nullable LinePlace ofHeader(@Nullable String text) {
    return of(HEADER, text);
  }

  /** Reads the header {@code weir-source}; returns null if it has another form. */
  static @Nullable LinePlace ofSource(@Nullable String text) {
    return of(SOURCE, text);
  }

  private static @Nullable LinePlace of(Pattern pattern, @Nullable String text) {
    Matcher place = pattern.matcher(String.valueOf(text));
    return place.matches()
        ? new LinePlace(Integer.parseInt(place.group(1)), Long.parseLong(place.group(2)), 0)
        : null;
  }

  /** Returns the place of a line of the same record. */
  LinePlace line(int number) {
    return new LinePlace(partition, offset, number);
  }

  /** Returns a key of the given kind for {@link Scratch}. */
  byte[] key(byte kind) {
    return key(kind, 0).array();
  }

  /**
   * Returns a key of the given kind for {@link Scratch}, with room for {@code room} further bytes.
   */
  ByteBuffer key(byte kind, int room) {
    return Scratch.key(kind, BYTES + room).putInt(partition).putLong(offset).putInt(line);
  }

  /** Returns the place of a key. */
  static LinePlace ofKey(byte[] key) {
    ByteBuffer place = ByteBuffer.wrap(key, 1, BYTES);
    return new LinePlace(place.getInt(), place.getLong(), place.getInt());
  }

  @Override
  public String toString() {
    return "calls " + partition + ":" + offset + (line == 0 ? "" : " line " + line);
  }
}
