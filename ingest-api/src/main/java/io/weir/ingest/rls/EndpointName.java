// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.weir.limits.Names;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.Locale;

/**
 * Builds the endpoint of a call from a descriptor. The endpoint consists of the domain and the
 * entries in order, separated by semicolons, as in {@code shop;generic_key=slow;path=/v1/items}.
 * Separators and pattern characters are percent-encoded, so that two different descriptors never
 * have the same endpoint. If an endpoint is too long for a name, {@code h:} and 192 bits of the
 * endpoint's SHA-256 hash replace it. Not thread-safe.
 */
public final class EndpointName {
  /**
   * Number of bytes of the SHA-256 hash in an endpoint: 192 bits, like the hashes in bucket keys.
   */
  private static final int HASH_BYTES = 24;

  private static final String HASHED = "h:";
  private static final String ENCODED = "%;=*{}";

  private final StringBuilder text = new StringBuilder(64);

  /** Begins an endpoint with the domain. */
  public EndpointName(String domain) {
    append(domain);
  }

  /** Adds an entry with its value. */
  public EndpointName with(String key, String value) {
    return with(key).append("=", value);
  }

  /** Adds an entry without its value. */
  public EndpointName with(String key) {
    return append(";", key);
  }

  /**
   * Adds an entry with a value prefix and {@code *}. Policies use the resulting pattern to match
   * all values with this prefix.
   */
  public EndpointName withBeginning(String key, String beginning) {
    with(key, beginning);
    text.append('*');
    return this;
  }

  private EndpointName append(String separator, String name) {
    text.append(separator);
    append(name);
    return this;
  }

  private void append(String name) {
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c < 0x20 || (c >= 0x7f && c <= 0x9f) || ENCODED.indexOf(c) >= 0) {
        for (byte each : String.valueOf(c).getBytes(StandardCharsets.UTF_8)) {
          text.append(String.format(Locale.ROOT, "%%%02X", each & 0xff));
        }
      } else {
        text.append(c);
      }
    }
  }

  /** Returns the endpoint. */
  public String name() {
    return nameOf(text.toString());
  }

  /** Returns the text if it is a valid name, otherwise its hash. */
  static String nameOf(String text) {
    return Names.violation(text) == null ? text : HASHED + hash(text);
  }

  private static String hash(String text) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes(text));
      return Base64.getUrlEncoder().encodeToString(Arrays.copyOf(digest, HASH_BYTES));
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException("every Java platform has SHA-256", missing);
    }
  }

  /**
   * Encodes a text as UTF-8. An unpaired surrogate, which UTF-8 cannot encode, becomes three bytes
   * that never occur in UTF-8. So different texts have different bytes.
   */
  private static byte[] bytes(String text) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
    for (int i = 0; i < text.length(); ) {
      int c = text.codePointAt(i);
      i += Character.charCount(c);
      if (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE) {
        bytes.write(0xe0 | c >> 12);
        bytes.write(0x80 | (c >> 6 & 0x3f));
        bytes.write(0x80 | (c & 0x3f));
      } else {
        bytes.writeBytes(Character.toString(c).getBytes(StandardCharsets.UTF_8));
      }
    }
    return bytes.toByteArray();
  }
}
