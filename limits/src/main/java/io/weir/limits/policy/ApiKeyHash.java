// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * The SHA-256 of an API key: all that Weir keeps of it. Immutable.
 *
 * <p>A plain hash is enough because the keys that Weir makes are 256 random bits: nobody can list
 * the keys that might belong to a hash, which is what salts and slow hashes of passwords are for,
 * and a slow hash would be paid on every call. A key that is made elsewhere and imported by its
 * hash must be as random. Two hashes are compared in a time that may depend on both; it tells
 * nothing of a key, since the hash of a guess says nothing about the hashes of similar guesses.
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
   * @param key the whole key, which is hashed in UTF-8; must not have unpaired surrogates, which
   *     UTF-8 cannot express
   */
  public static ApiKeyHash of(String key) {
    return of(sha256().digest(key.getBytes(StandardCharsets.UTF_8)));
  }

  /**
   * Returns the hash that is written as text.
   *
   * @param digits 64 hexadecimal digits in lower case
   * @throws IllegalArgumentException if they are not; the message does not repeat them, since
   *     someone may have given a key by mistake
   */
  public static ApiKeyHash parse(String digits) {
    if (!isHash(digits)) {
      throw new IllegalArgumentException("a SHA-256 must be 64 lower-case hexadecimal digits");
    }
    return of(HexFormat.of().parseHex(digits));
  }

  /** Returns whether a text is the hash of some key. */
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
      throw new IllegalStateException("every Java platform has SHA-256", missing);
    }
  }

  /** Returns the hash as 64 hexadecimal digits in lower case. */
  @Override
  public String toString() {
    return "%016x%016x%016x%016x".formatted(first, second, third, last);
  }
}
