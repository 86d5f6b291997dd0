// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import java.util.ArrayList;
import java.util.List;

/**
 * The form in which servlet containers match a request's path, whichever way it is written.
 *
 * <ol>
 *   <li>Of each segment, parameters are left out: all from its first semicolon on.
 *   <li>Empty segments are left out, and so is a slash at the end.
 *   <li>Dot segments are resolved, also those whose dots are percent-encoded; above the root there
 *       is nothing.
 *   <li>A percent sign that begins no encoded byte stands for itself: it becomes {@code %25}.
 * </ol>
 *
 * <p>Segments stay encoded otherwise, since whoever compares them decodes them, once. For example,
 * {@code //v1/x/%2e./it%65ms;v=1/7/} has the form {@code /v1/it%65ms/7}. Stateless and thread-safe.
 */
final class PathForm {
  private static final int HEXADECIMAL = 16;

  private PathForm() {}

  /** Returns the segments of a path in that form, whatever it holds. */
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
   * Returns the path that is matched within an application: that of the whole address, without as
   * many segments at its beginning as the application's own path has.
   *
   * @param contextPath the application's path, empty if it is the root
   */
  static String within(String contextPath, String address) {
    List<String> segments = segments(address);
    int from = Math.min(segments(contextPath).size(), segments.size());
    return "/" + String.join("/", segments.subList(from, segments.size()));
  }

  /**
   * Returns a path as it is written, but for percent signs that begin no encoded byte, with which
   * no path can be read.
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

  /** Returns whether a hexadecimal digit stands there; digits of other scripts are none. */
  private static boolean isHexadecimal(String text, int at) {
    return at < text.length()
        && text.charAt(at) < 0x80
        && Character.digit(text.charAt(at), HEXADECIMAL) >= 0;
  }
}
