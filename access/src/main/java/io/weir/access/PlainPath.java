// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.util.Locale;

/**
 * Detects ambiguous paths, which two parts of a server may interpret differently. Example: an
 * access rule interprets {@code /v1/policies/../../health/x} as {@code /health/x} and allows the
 * request. If a route then interprets the path differently, the server has allowed a forbidden
 * request. Stateless and thread-safe.
 */
final class PlainPath {
  private PlainPath() {}

  /**
   * Returns whether a path, as the client sent it, is unambiguous. An unambiguous path has no dot
   * segments in any encoding, no parameters, no backslashes and no encoded NUL characters. Only the
   * last segment may be empty. An encoded slash or backslash is allowed, for example in a client's
   * identifier: the server decodes a segment only after it has split the path.
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
