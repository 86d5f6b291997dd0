// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.topics.model.CallEvent;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Reads those calls of batches that may mention a text, such as a client or an id. Only their lines
 * are decoded, which is what makes a search of many batches affordable: every other line is passed
 * over after its bytes were compared. Whether a call mentions the text, and in which member, is
 * left to the caller. Not thread-safe.
 *
 * <p>Example: a search for {@code acme} decodes the lines that contain these four bytes anywhere
 * ({@code "client":"acme2"}, too), and every line with a backslash, in which the text may be
 * escaped.
 */
public final class CallSearch {
  private static final byte[] NONE = {};

  private final byte[] text;
  private final BatchLines lines = new BatchLines();
  private byte[] value = NONE;

  /**
   * Creates a search that has no batch yet.
   *
   * @param text the text, at least one character
   */
  public CallSearch(String text) {
    if (text.isEmpty()) {
      throw new IllegalArgumentException("the text must not be empty");
    }
    this.text = text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Begins a batch, which replaces the previous one.
   *
   * @param batch the lines of the batch; must not be changed until the next one begins
   * @return the number of lines, or 0 if none of them can mention the text
   */
  public int begin(byte[] batch) {
    value = batch;
    return mayMention(0, batch.length) ? lines.find(batch) : 0;
  }

  /**
   * Returns the call of a line of the batch. Returns null if the line cannot mention the text, and
   * if it is not a call: such a line is in the quarantine.
   *
   * @param line the line's number, from 1 to the number that {@link #begin} returned
   */
  public @Nullable CallEvent call(int line) {
    int start = lines.start(line);
    int end = lines.end(line);
    if (!mayMention(start, end)) {
      return null;
    }
    try {
      return CallLineCodec.decode(value, start, end - start);
    } catch (MalformedRecordException inQuarantine) {
      return null;
    }
  }

  /** Returns false if the bytes cannot contain the text, neither in UTF-8 nor with escapes. */
  private boolean mayMention(int from, int to) {
    byte first = text[0];
    for (int i = from; i < to; i++) {
      if (value[i] == '\\' || (value[i] == first && isTextAt(i, to))) {
        return true;
      }
    }
    return false;
  }

  private boolean isTextAt(int at, int to) {
    if (to - at < text.length) {
      return false;
    }
    for (int i = 1; i < text.length; i++) {
      if (value[at + i] != text[i]) {
        return false;
      }
    }
    return true;
  }
}
