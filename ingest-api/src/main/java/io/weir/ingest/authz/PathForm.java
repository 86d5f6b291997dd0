// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import java.util.ArrayList;
import java.util.List;

/**
 * Converts the path of a request to its canonical form, so that an alternative spelling of a path
 * cannot bypass a limit. The form is a list of segments. Each character of a segment represents a
 * byte (ISO 8859-1). The conversion has these steps:
 *
 * <ol>
 *   <li>Remove the scheme, authority, query and fragment.
 *   <li>Remove the parameters of each segment: the segment's first semicolon and all following
 *       characters.
 *   <li>Decode percent-encoded bytes once, except the slash {@code %2F}. Keep a percent sign
 *       without two hexadecimal digits.
 *   <li>Remove empty segments and a final slash.
 *   <li>Resolve dot segments (RFC 3986 §5.2.4). Above the root, {@code ..} has no effect.
 * </ol>
 *
 * <p>For example, {@code //v1/x/../it%65ms;v=1/7/?q=1} has the segments {@code v1}, {@code items}
 * and {@code 7}.
 */
final class PathForm {
  private static final int HEXADECIMAL = 16;
  private static final String SCHEME_END = "://";

  private PathForm() {}

  /** Returns the segments of the path in a request target. Accepts any text. */
  static List<String> segments(String target) {
    List<String> segments = new ArrayList<>();
    int end = pathEnd(target);
    int from = pathStart(target, end);
    while (from < end) {
      int slash = target.indexOf('/', from);
      int to = slash < 0 || slash > end ? end : slash;
      add(segments, decoded(target, from, to));
      from = to + 1;
    }
    return segments;
  }

  private static int pathEnd(String target) {
    for (int i = 0; i < target.length(); i++) {
      char c = target.charAt(i);
      if (c == '?' || c == '#') {
        return i;
      }
    }
    return target.length();
  }

  /** Returns the index at which the path begins, after an authority if there is one. */
  private static int pathStart(String target, int end) {
    if (target.startsWith("/")) {
      return 0;
    }
    int scheme = target.indexOf(SCHEME_END);
    if (scheme < 0 || scheme >= end) {
      return 0;
    }
    int slash = target.indexOf('/', scheme + SCHEME_END.length());
    return slash < 0 || slash > end ? end : slash;
  }

  private static void add(List<String> segments, String segment) {
    if (segment.equals("..")) {
      if (!segments.isEmpty()) {
        segments.remove(segments.size() - 1);
      }
    } else if (!segment.isEmpty() && !segment.equals(".")) {
      segments.add(segment);
    }
  }

  private static String decoded(String target, int from, int to) {
    int semicolon = target.indexOf(';', from);
    int end = semicolon < 0 || semicolon > to ? to : semicolon;
    int percent = target.indexOf('%', from);
    if (percent < 0 || percent >= end) {
      return target.substring(from, end);
    }
    StringBuilder segment = new StringBuilder(end - from);
    for (int i = from; i < end; i++) {
      int encoded = target.charAt(i) == '%' && i + 2 < end ? encodedByte(target, i + 1) : -1;
      if (encoded < 0) {
        segment.append(target.charAt(i));
      } else {
        segment.append(encoded == '/' ? "%2F" : String.valueOf((char) encoded));
        i += 2;
      }
    }
    return segment.toString();
  }

  /**
   * Returns the byte that two hexadecimal digits encode, or −1 if a character is not a hexadecimal
   * digit.
   */
  private static int encodedByte(String target, int at) {
    int high = hexadecimal(target.charAt(at));
    int low = hexadecimal(target.charAt(at + 1));
    return high < 0 || low < 0 ? -1 : high * HEXADECIMAL + low;
  }

  /** Returns the value of an ASCII hexadecimal digit, or −1 for any other character. */
  private static int hexadecimal(char digit) {
    return digit < 0x80 ? Character.digit(digit, HEXADECIMAL) : -1;
  }
}
