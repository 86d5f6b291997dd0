// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Detects the ids that a block stores as UUIDs. Stateless and thread-safe. */
final class CallIds {
  private static final int UUID_CHARS = 36;

  private CallIds() {}

  /**
   * Returns the UUID of an id that is a UUID's text in lower case (RFC 9562 §4); otherwise null.
   */
  static @Nullable UUID uuid(String id) {
    if (id.length() != UUID_CHARS) {
      return null;
    }
    try {
      UUID uuid = UUID.fromString(id);
      return uuid.toString().equals(id) ? uuid : null;
    } catch (IllegalArgumentException otherForm) {
      return null;
    }
  }
}
