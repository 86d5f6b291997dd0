// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.limits.IpAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the caller's address in {@code X-Forwarded-For}. Each hop appends the address of its peer.
 * Weir trusts only the last entries, one for each trusted hop. Weir ignores all earlier entries,
 * because the caller may have forged them.
 */
final class ForwardedFor {
  /** Maximum number of trusted hops. */
  static final int MAX_HOPS = 16;

  private ForwardedFor() {}

  /**
   * Returns the address that the first trusted hop added; null if there is no such entry, or if the
   * entry is not an address.
   *
   * @param fields the values of all {@code X-Forwarded-For} fields, in order
   * @param hops number of trusted hops; 0 if no hop is trusted
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

  /** Parses an address with an optional port. */
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
