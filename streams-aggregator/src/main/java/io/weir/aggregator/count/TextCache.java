// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A cache of texts. A name that occurs in many calls is created once; it can then be compared by
 * identity, and its hash is known. A new text replaces the one in the same slot. Not thread-safe.
 */
final class TextCache {
  /** Number of slots; a power of two. Texts have at most 256 characters, so the maximum is 5 MB. */
  private static final int PLACES = 16 * 1024;

  private final @Nullable String[] places = new String[PLACES];

  /**
   * Returns the text of ASCII bytes.
   *
   * @param hash {@link String#hashCode} of the text
   */
  String get(byte[] bytes, int start, int length, int hash) {
    int place = (hash ^ (hash >>> 15)) & (PLACES - 1);
    String known = places[place];
    if (known != null && isText(known, bytes, start, length)) {
      return known;
    }
    String text = new String(bytes, start, length, StandardCharsets.ISO_8859_1);
    places[place] = text;
    return text;
  }

  private static boolean isText(String text, byte[] bytes, int start, int length) {
    if (text.length() != length) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      if (text.charAt(i) != bytes[start + i]) {
        return false;
      }
    }
    return true;
  }
}
