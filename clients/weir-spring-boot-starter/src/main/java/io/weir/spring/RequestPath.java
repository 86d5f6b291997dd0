// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import java.util.ArrayList;
import java.util.List;

/**
 * Normalizes request paths to the form that servlet containers match.
 *
 * <ol>
 *   <li>Removes the parameters of each segment. The parameters begin with the segment's first
 *       semicolon.
 *   <li>Removes empty segments and the slash at the end.
 *   <li>Resolves dot segments, also with percent-encoded dots. Drops segments above the root.
 *   <li>Replaces each percent sign that begins no encoded byte by {@code %25}.
 * </ol>
 *
 * <p>The segments otherwise stay percent-encoded, because the code that compares segments decodes
 * them. Example: {@code //v1/x/%2e./it%65ms;v=1/7/} becomes {@code /v1/it%65ms/7}. Stateless and
 * thread-safe.
 */
final class RequestPath {
  private static final int HEXADECIMAL = 16;

  private RequestPath() {}

  /** Returns the segments of the normalized path. Every text is accepted. */
  static List<String> segments(String path) {
    List<String> segments = new ArrayList<>();
    for (String written : path.split("/", -1)) {
      String segment = withoutParameters(written);
      String dots = segment.replace("%2e", ".").replace("%2E", ".");
      if (dots.equals("..")) {
        if (!segments.isEmpty()) {
          segments.remove(segments.size() - 1);
        }
      } else if (!segment.isEmpty() && !dots.equals(".")) {
        segments.add(decodable(segment));
      }
    }
    return segments;
  }

  /**
   * Returns the normalized path within an application. If the context path has n segments, removes
   * the first n segments of the path.
   *
   * @param contextPath context path of the application; empty for the root
   */
  static String within(String contextPath, String address) {
    List<String> segments = segments(address);
    int from = Math.min(segments(contextPath).size(), segments.size());
    return "/" + String.join("/", segments.subList(from, segments.size()));
  }

  /**
   * Returns a path that can be decoded: each percent sign that begins no encoded byte is replaced
   * by {@code %25}.
   */
  static String decodable(String path) {
    if (path.indexOf('%') < 0) {
      return path;
    }
    StringBuilder text = new StringBuilder(path.length() + 2);
    for (int i = 0; i < path.length(); i++) {
      char c = path.charAt(i);
      text.append(c);
      if (c == '%' && !(isHexadecimal(path, i + 1) && isHexadecimal(path, i + 2))) {
        text.append("25");
      }
    }
    return text.toString();
  }

  private static String withoutParameters(String segment) {
    int semicolon = segment.indexOf(';');
    return semicolon < 0 ? segment : segment.substring(0, semicolon);
  }

  /** Returns whether the character at an index is an ASCII hexadecimal digit. */
  private static boolean isHexadecimal(String text, int at) {
    return at < text.length()
        && text.charAt(at) < 0x80
        && Character.digit(text.charAt(at), HEXADECIMAL) >= 0;
  }
}
