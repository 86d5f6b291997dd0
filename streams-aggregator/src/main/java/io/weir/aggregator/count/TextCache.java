// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A cache of texts. A name that occurs in many calls is usually created only once. Comparisons of
 * the name are then fast, because all uses share one string object, whose hash is already computed.
 * A new text replaces the text in the same slot. Not thread-safe.
 */
final class TextCache {
  /**
   * Number of slots, a power of two. Texts have at most 256 characters, so the cache takes at most
   * 5 MB.
   */
  private static final int PLACES = 16 * 1024;

  private final @Nullable String[] places = new String[PLACES];

  /**
   * Returns the text that a range of ASCII bytes represents.
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
