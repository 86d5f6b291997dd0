// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.util.Locale;

/**
 * Tells paths that every part of a server reads alike from those that it might not: a rule that
 * sees {@code /health/x} where a route sees {@code /v1/policies/../../health/x} lets in whom it
 * should not. Stateless and thread-safe.
 */
final class PlainPath {
  private PlainPath() {}

  /**
   * Returns whether a path, as it was sent, has neither dot segments nor empty ones but the last,
   * however they are written, nor parameters or back slashes. An encoded slash or back slash is a
   * character of its segment, as in the path of a client whose identifier has one: nothing decodes
   * it before the segments are told apart.
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
