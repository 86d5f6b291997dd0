// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.util.Arrays;

/**
 * The bounds of the lines of a batch. Lines are separated by a line feed; the last line may end
 * with one or not. Reused from batch to batch. Not thread-safe.
 */
final class Lines {
  private static final byte LINE_FEED = '\n';

  private int[] ends = new int[1024];
  private int count;

  /** Finds the lines of a value. */
  void find(byte[] value) {
    count = 0;
    for (int i = 0; i < value.length; i++) {
      if (value[i] == LINE_FEED) {
        addEnd(i);
      }
    }
    if (value.length > 0 && value[value.length - 1] != LINE_FEED) {
      addEnd(value.length);
    }
  }

  private void addEnd(int end) {
    if (count == ends.length) {
      ends = Arrays.copyOf(ends, 2 * count);
    }
    ends[count++] = end;
  }

  int count() {
    return count;
  }

  /** Returns the index of the first byte of a line; lines are counted from 0. */
  int start(int line) {
    return line == 0 ? 0 : ends[line - 1] + 1;
  }

  /** Returns the index after the last byte of a line: its line feed, or the end of the value. */
  int end(int line) {
    return ends[line];
  }
}
