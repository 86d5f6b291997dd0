// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * Formats values of a file for messages. The result is short, has one line, and contains no control
 * characters.
 */
final class Shown {
  private static final int MOST_CHARS = 80;
  private static final int MOST_CHARS_OF_LINE = 500;
  private static final int MOST_ELEMENTS = 5;

  private Shown() {}

  /**
   * Returns a value as text. Strings are in single quotes, and lists show their first five
   * elements.
   */
  static String of(JsonNode value) {
    if (!value.isArray()) {
      return scalar(value);
    }
    List<String> elements = new ArrayList<>();
    for (int i = 0; i < Math.min(value.size(), MOST_ELEMENTS); i++) {
      elements.add(value.get(i).isArray() ? "a list" : scalar(value.get(i)));
    }
    return "[" + String.join(", ", elements) + (value.size() > MOST_ELEMENTS ? ", …]" : "]");
  }

  private static String scalar(JsonNode value) {
    if (value.isObject()) {
      return "a mapping";
    }
    return value.isTextual() ? "'" + cut(value.textValue(), MOST_CHARS) + "'" : value.asText();
  }

  /** Returns a message as one line of printable characters, truncated to 500 characters. */
  static String inOneLine(String message) {
    StringBuilder line = new StringBuilder();
    cut(message, MOST_CHARS_OF_LINE)
        .codePoints()
        .forEach(
            point -> {
              if (isPrintable(point)) {
                line.appendCodePoint(point);
              } else {
                line.append("\\u{%x}".formatted(point));
              }
            });
    return line.toString();
  }

  private static boolean isPrintable(int point) {
    return switch (Character.getType(point)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.SURROGATE,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      default -> true;
    };
  }

  /** Returns a name, truncated to 80 characters. */
  static String cut(String text) {
    return cut(text, MOST_CHARS);
  }

  private static String cut(String text, int most) {
    return text.length() <= most ? text : text.substring(0, most) + "…";
  }
}
