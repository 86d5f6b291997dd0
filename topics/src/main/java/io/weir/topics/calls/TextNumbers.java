// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import java.util.HashMap;
import java.util.Map;

/** Assigns numbers to the texts of the block that is being written. Not thread-safe. */
final class TextNumbers {
  private static final int MAX_KEPT = 1_024;

  private final Texts texts;
  private Map<String, Integer> numbers = new HashMap<>();

  TextNumbers(Texts texts) {
    this.texts = texts;
  }

  /** Returns the number of a text. Adds the text to the dictionary if it is new. */
  int of(String text) {
    Integer known = numbers.get(text);
    if (known != null) {
      return known;
    }
    int number = texts.add(text);
    numbers.put(text, number);
    return number;
  }

  /** Removes all numbers. A large map is replaced, since clearing it visits its whole table. */
  void clear() {
    if (numbers.size() > MAX_KEPT) {
      numbers = new HashMap<>();
    } else {
      numbers.clear();
    }
  }
}
