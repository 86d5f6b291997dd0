// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** Formats parts of a file for a message: short, in one line, and without control characters. */
final class Shown {
  private static final int MOST_CHARS = 80;
  private static final int MOST_CHARS_OF_LINE = 500;
  private static final int MOST_ELEMENTS = 5;

  private Shown() {}

  /** Returns a value as text: strings in single quotes, lists by their first elements. */
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

  /** Returns a message in one line that a terminal can show. */
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

  /** Returns a name, truncated if it is long. */
  static String cut(String text) {
    return cut(text, MOST_CHARS);
  }

  private static String cut(String text, int most) {
    return text.length() <= most ? text : text.substring(0, most) + "…";
  }
}
