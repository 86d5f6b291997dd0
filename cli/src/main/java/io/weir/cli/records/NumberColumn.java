// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import java.util.Arrays;

/** A growing list of numbers. Not thread-safe. */
final class NumberColumn {
  private long[] numbers = new long[16];
  private int size;

  int size() {
    return size;
  }

  long get(int index) {
    return numbers[index];
  }

  void set(int index, long number) {
    numbers[index] = number;
  }

  void add(long number) {
    if (size == numbers.length) {
      numbers = Arrays.copyOf(numbers, 2 * size);
    }
    numbers[size++] = number;
  }

  void clear() {
    size = 0;
  }

  /** Removes numbers, or appends zeros, so that the column has the given size. */
  void resize(int newSize) {
    while (size < newSize) {
      add(0);
    }
    size = newSize;
  }
}
