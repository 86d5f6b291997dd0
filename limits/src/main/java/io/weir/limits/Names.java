// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The rule for the names of clients, endpoints, meters and policies: 1 to 256 bytes of UTF-8,
 * without control characters and unpaired surrogates. Stateless and thread-safe.
 */
public final class Names {
  /** Maximum length of a name in bytes of UTF-8. The maximum bounds the length of every key. */
  public static final int MAX_BYTES = 256;

  private Names() {}

  /**
   * Returns the rule that a name violates, as a phrase that follows the name of the field ("must
   * not be empty"); null if the name is valid.
   */
  public static @Nullable String violation(String name) {
    return violation(name, MAX_BYTES);
  }

  /**
   * Returns the rule that a text violates, as a phrase that follows the name of the field; null if
   * the text is valid. The rules for names apply, with another maximum length. The result contains
   * no part of the text.
   *
   * @param maxBytes maximum length in bytes of UTF-8
   */
  public static @Nullable String violation(String name, int maxBytes) {
    if (name.isEmpty()) {
      return "must not be empty";
    }
    int bytes = 0;
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c < 0x20 || (c >= 0x7f && c <= 0x9f)) {
        return String.format(
            "must not contain control characters (U+%04X at index %d)", (int) c, i);
      }
      if (c < 0x80) {
        bytes += 1;
      } else if (c < 0x800) {
        bytes += 2;
      } else if (!Character.isSurrogate(c)) {
        bytes += 3;
      } else if (Character.isHighSurrogate(c)
          && i + 1 < name.length()
          && Character.isLowSurrogate(name.charAt(i + 1))) {
        bytes += 4;
        i++;
      } else {
        return "must be valid Unicode (unpaired surrogate at index " + i + ")";
      }
    }
    return bytes > maxBytes
        ? "must have at most " + maxBytes + " bytes of UTF-8, but has " + bytes
        : null;
  }

  /**
   * Requires a name to be valid and returns it.
   *
   * @throws IllegalArgumentException if the name is not valid; the message contains the field and
   *     the rule
   */
  public static String require(String field, String name) {
    String violation = violation(name);
    if (violation != null) {
      throw new IllegalArgumentException(field + " " + violation);
    }
    return name;
  }
}
