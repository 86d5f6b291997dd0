// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

import io.weir.limits.Names;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Creates the id of a call line for an event from the event's {@code source} and {@code id}, which
 * together identify it. Two events have the same id only if both parts are equal: the prefix {@code
 * ce:} and the length of the source mark where the source ends. An id longer than the maximum of a
 * name is replaced by its SHA-256 (FIPS 180-4).
 */
final class EventId {
  /** Maximum number of bytes of UTF-8 of a source, and of an event's id. */
  static final int MAX_PART_BYTES = 2_048;

  private static final String PREFIX = "ce:";
  private static final String HASHED = "ce-sha256:";

  private EventId() {}

  /**
   * Returns the id; both parts must be {@linkplain Names#violation names}, except for their length.
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
