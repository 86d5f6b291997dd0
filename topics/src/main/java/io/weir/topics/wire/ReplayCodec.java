// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.topics.model.Replay;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Codec for the additional headers of a replayed batch, as text: {@code replay_of}
 * (partition@offset) and, for a replay of lines, {@code replay_line}. Stateless and thread-safe.
 */
public final class ReplayCodec {
  /** The header with the partition and the offset of the quarantined record. */
  public static final String OF_HEADER = "replay_of";

  /**
   * The header with the number of the batch's first line in the quarantined record; absent if the
   * batch repeats the whole record.
   */
  public static final String LINE_HEADER = "replay_line";

  private static final Pattern PLACE = Pattern.compile("(\\d{1,6})@(\\d{1,15})");
  private static final Pattern LINE = Pattern.compile("[1-9]\\d{0,8}");

  private ReplayCodec() {}

  /** Returns the headers, in the order in which they are written. */
  public static Map<String, byte[]> encode(Replay replay) {
    Map<String, byte[]> headers = new LinkedHashMap<>();
    headers.put(OF_HEADER, utf8(replay.partition() + "@" + replay.offset()));
    if (!replay.isWhole()) {
      headers.put(LINE_HEADER, utf8(Integer.toString(replay.firstLine())));
    }
    return headers;
  }

  /**
   * Decodes the headers of a record.
   *
   * @param headers function that returns a header's value; null if the record has no such header
   * @return the replay; null if the record is not a replay
   * @throws MalformedRecordException if a header is wrong; the message states the header
   */
  public static @Nullable Replay decode(Function<String, byte @Nullable []> headers)
      throws MalformedRecordException {
    byte[] of = headers.apply(OF_HEADER);
    if (of == null) {
      return null;
    }
    Matcher place = PLACE.matcher(new String(of, StandardCharsets.UTF_8));
    byte[] line = headers.apply(LINE_HEADER);
    String first = line == null ? "" : new String(line, StandardCharsets.UTF_8);
    if (!place.matches()) {
      throw new MalformedRecordException("header " + OF_HEADER + " must be partition@offset");
    }
    if (line != null && !LINE.matcher(first).matches()) {
      throw new MalformedRecordException("header " + LINE_HEADER + " must be a number from 1");
    }
    return new Replay(
        Integer.parseInt(place.group(1)),
        Long.parseLong(place.group(2)),
        line == null ? 0 : Integer.parseInt(first));
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
