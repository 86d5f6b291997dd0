// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.topics.model.CallEvent;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The start and the end of each line in a batch. A line ends with a line feed, which is optional
 * after the last line. {@code a\nb} and {@code a\nb\n} have two lines, {@code \n} has one empty
 * line, and an empty value has no line. Line numbers begin at 1.
 *
 * <p>An instance may be used for many batches, and keeps no reference to them. An instance
 * allocates memory only if a batch has more lines than every earlier batch. Not thread-safe.
 */
public final class BatchLines {
  private static final byte LINE_FEED = '\n';

  /**
   * The index after the last byte of each line. The entry of line 0 is the index before the first
   * byte.
   */
  private int[] ends = new int[1024];

  private int count;

  /** Creates an instance without lines. */
  public BatchLines() {
    ends[0] = -1;
  }

  /**
   * Finds the lines of a value. The found lines replace the lines of the previous value.
   *
   * @return the number of lines
   */
  public int find(byte[] value) {
    count = 0;
    for (int i = 0; i < value.length; i++) {
      if (value[i] == LINE_FEED) {
        addEnd(i);
      }
    }
    if (value.length > 0 && value[value.length - 1] != LINE_FEED) {
      addEnd(value.length);
    }
    return count;
  }

  private void addEnd(int end) {
    count++;
    if (count == ends.length) {
      ends = Arrays.copyOf(ends, 2 * count);
    }
    ends[count] = end;
  }

  /** Returns the number of lines. */
  public int count() {
    return count;
  }

  /**
   * Returns the index of the first byte of a line; the index of its line feed if the line is empty.
   *
   * @param line the line's number, 1 to {@link #count}
   */
  public int start(int line) {
    return ends[line - 1] + 1;
  }

  /**
   * Returns the index after the last byte of a line: the index of its line feed, or the length of
   * the value.
   *
   * @param line the line's number, 1 to {@link #count}
   */
  public int end(int line) {
    return ends[line];
  }

  /** Returns a copy of each line of a value, without its line feed. */
  public static List<byte[]> split(byte[] value) {
    BatchLines bounds = new BatchLines();
    int count = bounds.find(value);
    List<byte[]> lines = new ArrayList<>(count);
    for (int line = 1; line <= count; line++) {
      lines.add(Arrays.copyOfRange(value, bounds.start(line), bounds.end(line)));
    }
    return lines;
  }

  /** Returns a value with the given lines, each followed by a line feed. */
  public static byte[] join(List<byte[]> lines) {
    ByteArrayOutputStream value = new ByteArrayOutputStream();
    for (byte[] line : lines) {
      value.writeBytes(line);
      value.write(LINE_FEED);
    }
    return value.toByteArray();
  }

  /** Returns a value with a line for each call. */
  public static byte[] encode(List<CallEvent> calls) {
    return join(calls.stream().map(CallLineCodec::encode).toList());
  }
}
