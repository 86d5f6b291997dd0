// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * The SHA-256 of an API key. Weir does not store the key. Immutable.
 *
 * <p>A plain hash is sufficient because Weir's keys are 256 random bits, so an attacker cannot try
 * all keys. Passwords need salts and slow hashes because an attacker can guess them. A slow hash
 * would cost time on every call. A key that another system creates must also have 256 random bits.
 * The time in which two hashes are compared may depend on the hashes. This time reveals nothing
 * about a key, because similar keys have unrelated hashes.
 *
 * @param first the first 64 bits
 * @param second the next 64 bits
 * @param third the next 64 bits
 * @param last the last 64 bits
 */
public record ApiKeyHash(long first, long second, long third, long last) {
  private static final Pattern DIGITS = Pattern.compile("[0-9a-f]{64}");

  /**
   * Returns the hash of a key.
   *
   * @param key the whole key; must not contain unpaired surrogates, because its UTF-8 form is
   *     hashed
   */
  public static ApiKeyHash of(String key) {
    return of(sha256().digest(key.getBytes(StandardCharsets.UTF_8)));
  }

  /**
   * Parses the text of a hash.
   *
   * @param digits 64 hexadecimal digits in lower case
   * @throws IllegalArgumentException if the text has another form; the message does not contain the
   *     text, because the text may be a key
   */
  public static ApiKeyHash parse(String digits) {
    if (!isHash(digits)) {
      throw new IllegalArgumentException(
          "the hash of an API key must be a SHA-256 of 64 lower-case hexadecimal digits");
    }
    return of(HexFormat.of().parseHex(digits));
  }

  /** Returns whether a text has the form of a hash. */
  public static boolean isHash(String digits) {
    return DIGITS.matcher(digits).matches();
  }

  private static ApiKeyHash of(byte[] digest) {
    ByteBuffer bytes = ByteBuffer.wrap(digest);
    return new ApiKeyHash(bytes.getLong(), bytes.getLong(), bytes.getLong(), bytes.getLong());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException("this Java platform does not provide SHA-256", missing);
    }
  }

  /** Returns the hash as 64 hexadecimal digits in lower case. */
  @Override
  public String toString() {
    return "%016x%016x%016x%016x".formatted(first, second, third, last);
  }
}
