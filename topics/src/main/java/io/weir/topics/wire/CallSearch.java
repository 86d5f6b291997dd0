// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.topics.model.CallEvent;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A search for the calls that may contain a text, such as a client or an id. A search compares the
 * bytes of each line, and decodes only lines that may contain the text. A search of many batches is
 * therefore cheap. The caller must check whether a member of the call contains the text. Not
 * thread-safe.
 *
 * <p>Example: a search for {@code acme} decodes all lines with these four bytes, including {@code
 * "client":"acme2"}. The search also decodes every line with a backslash, because such a line may
 * contain the text in an escaped form.
 */
public final class CallSearch {
  private static final byte[] NONE = {};

  private final byte[] text;
  private final BatchLines lines = new BatchLines();
  private byte[] value = NONE;

  /**
   * Creates a search without a batch.
   *
   * @param text the text, at least one character
   */
  public CallSearch(String text) {
    if (text.isEmpty()) {
      throw new IllegalArgumentException("the text of a search must not be empty");
    }
    this.text = text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Begins a new batch. The new batch replaces the previous batch.
   *
   * @param batch the lines of the batch; must not be modified until the next batch begins
   * @return the number of lines; 0 if no line can contain the text
   */
  public int begin(byte[] batch) {
    value = batch;
    return mayMention(0, batch.length) ? lines.find(batch) : 0;
  }

  /**
   * Returns the call of a line of the batch. Returns null if the line cannot contain the text, or
   * is malformed; the aggregator quarantines malformed lines.
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

  /** Returns false if the bytes cannot contain the text, in UTF-8 or with escapes. */
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
