// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallBatch;
import io.weir.cli.records.UnreadableException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
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
  private static final Pattern LINE = Pattern.compile("[1-9]\\d{0,8}");

  /** Reads {@code partition@offset}; returns null if the text has another form. */
  static @Nullable LinePlace ofHeader(@Nullable String text) {
    return of(HEADER, text);
  }

  /** Reads the header {@code weir-source}; returns null if it has another form. */
  static @Nullable LinePlace ofSource(@Nullable String text) {
    return of(SOURCE, text);
  }

  /**
   * Reads the headers of a replay batch by the rules in docs/topics. Returns the place at which the
   * first line was refused; null if the record is not a replay.
   */
  static @Nullable LinePlace ofReplay(ConsumerRecord<@Nullable String, byte @Nullable []> record)
      throws UnreadableException {
    String of = CallBatch.text(record, "replay_of");
    if (of == null) {
      return null;
    }
    LinePlace place = ofHeader(of);
    String line = CallBatch.text(record, "replay_line");
    if (place == null || (line != null && !LINE.matcher(line).matches())) {
      throw new UnreadableException("headers replay_of, replay_line are malformed");
    }
    return line == null ? place : place.line(Integer.parseInt(line));
  }

  private static @Nullable LinePlace of(Pattern pattern, @Nullable String text) {
    Matcher place = pattern.matcher(String.valueOf(text));
    return place.matches()
        ? new LinePlace(Integer.parseInt(place.group(1)), Long.parseLong(place.group(2)), 0)
        : null;
  }

  LinePlace line(int number) {
    return new LinePlace(partition, offset, number);
  }

  /** Returns whether the offset is at or after the begin of its partition, and before the end. */
  boolean isIn(Map<Integer, Long> begins, Map<Integer, Long> ends) {
    return offset >= begins.getOrDefault(partition, 0L)
        && offset < ends.getOrDefault(partition, 0L);
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

  static LinePlace ofKey(byte[] key) {
    ByteBuffer place = ByteBuffer.wrap(key, 1, BYTES);
    return new LinePlace(place.getInt(), place.getLong(), place.getInt());
  }

  @Override
  public String toString() {
    return "calls " + partition + ":" + offset + (line == 0 ? "" : " line " + line);
  }
}
