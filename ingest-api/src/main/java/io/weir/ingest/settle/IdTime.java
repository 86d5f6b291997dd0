// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.UUID;

/** Extracts the time from the id of a call. */
final class IdTime {
  private static final int UUID_CHARS = 36;
  private static final int TIME_BASED_RANDOM = 7;
  private static final int TIME_SHIFT = 16;

  private IdTime() {}

  /** Returns the time in a UUIDv7 (RFC 9562 §5.7) in epoch milliseconds, or −1 for any other id. */
  static long of(String id) {
    if (id.length() != UUID_CHARS) {
      return -1;
    }
    try {
      UUID uuid = UUID.fromString(id);
      return uuid.version() == TIME_BASED_RANDOM
          ? uuid.getMostSignificantBits() >>> TIME_SHIFT
          : -1;
    } catch (IllegalArgumentException otherId) {
      return -1;
    }
  }
}
