// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.limits.IpAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the caller's address in the lists of {@code X-Forwarded-For}. Each hop adds the address of
 * its peer at the end, so that only as many entries from the right as there are trusted hops are
 * theirs; all before them may be the caller's invention, and is not read.
 */
final class ForwardedFor {
  /** Most trusted hops. */
  static final int MAX_HOPS = 16;

  private ForwardedFor() {}

  /**
   * Returns the entry that the first of the trusted hops has added; null if there is none, or it is
   * no address.
   *
   * @param fields the values of all fields of that name, in their order
   * @param hops how many trusted hops add an entry; 0 for none
   */
  static @Nullable IpAddress address(List<String> fields, int hops) {
    if (hops == 0) {
      return null;
    }
    int passed = 0;
    for (int field = fields.size() - 1; field >= 0; field--) {
      String value = fields.get(field);
      int end = value.length();
      while (end >= 0) {
        int comma = end == 0 ? -1 : value.lastIndexOf(',', end - 1);
        passed++;
        if (passed == hops) {
          return parse(value.substring(comma + 1, end).strip());
        }
        end = comma;
      }
    }
    return null;
  }

  /** Parses an address, behind which a port may stand. */
  private static @Nullable IpAddress parse(String entry) {
    if (entry.startsWith("[")) {
      int end = entry.indexOf(']');
      return end < 0 ? null : IpAddress.parse(entry.substring(1, end));
    }
    int colon = entry.indexOf(':');
    boolean hasPort = colon >= 0 && entry.indexOf(':', colon + 1) < 0;
    return IpAddress.parse(hasPort ? entry.substring(0, colon) : entry);
  }
}
