// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.util.Locale;

/**
 * Detects ambiguous paths, which parts of a server could interpret differently. A rule that sees
 * {@code /health/x} where a route sees {@code /v1/policies/../../health/x} would admit forbidden
 * requests. Stateless and thread-safe.
 */
final class PlainPath {
  private PlainPath() {}

  /**
   * Returns whether a path as sent is unambiguous. It must have no dot segments, in any encoding,
   * no empty segments except the last, no parameters and no backslashes. An encoded slash or
   * backslash is a character of its segment, for instance in a client's identifier: segments are
   * split before they are decoded.
   */
  static boolean isPlain(String path) {
    if (!path.startsWith("/")) {
      return false;
    }
    String[] segments = path.substring(1).split("/", -1);
    for (int i = 0; i < segments.length; i++) {
      String segment = segments[i].toLowerCase(Locale.ROOT).replace("%2e", ".");
      boolean isLast = i == segments.length - 1;
      if (segment.equals(".")
          || segment.equals("..")
          || (segment.isEmpty() && !isLast)
          || segment.contains(";")
          || segment.contains("\\")
          || segment.contains("%00")) {
        return false;
      }
    }
    return true;
  }
}
