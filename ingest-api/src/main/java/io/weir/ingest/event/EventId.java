// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

import io.weir.limits.Names;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Creates the id of an event's call line from the event's {@code source} and {@code id}. The two
 * attributes together identify the event. The id contains the length of the source, so that two
 * events have the same id only if both attributes are equal. If an id exceeds the maximum length of
 * a name, its SHA-256 hash (FIPS 180-4) replaces it.
 */
final class EventId {
  /** Maximum length of a source, and of an event's id, in bytes of UTF-8. */
  static final int MAX_PART_BYTES = 2_048;

  private static final String PREFIX = "ce:";
  private static final String HASHED = "ce-sha256:";

  private EventId() {}

  /**
   * Returns the id. Both parts must comply with the {@linkplain Names#violation rules for names},
   * except the rule for the length.
   */
  static String of(String source, String id) {
    String whole = PREFIX + source.length() + ":" + source + ":" + id;
    return Names.violation(whole) == null ? whole : HASHED + sha256(whole);
  }

  private static String sha256(String text) {
    try {
      byte[] hash =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java platform has SHA-256", impossible);
    }
  }
}
