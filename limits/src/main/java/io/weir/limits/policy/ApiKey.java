// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.regex.Pattern;

/**
 * An API key of a client. Weir stores only the hash of the key. Immutable.
 *
 * @param id identifies the key for people; unique among the keys of the client
 * @param sha256 the hash of the key
 * @param expiresAtEpochMillis time from which on the key is not accepted; {@link #NEVER} if the key
 *     does not expire
 */
public record ApiKey(String id, ApiKeyHash sha256, long expiresAtEpochMillis) {
  /** Value of the expiry for a key that never expires. */
  public static final long NEVER = Long.MAX_VALUE;

  /** Prefix of every key that Weir creates. Secret scanners find leaked keys by this prefix. */
  public static final String PREFIX = "weir_";

  /** The rule for an id, as a phrase that follows the name of the field. */
  public static final String ID_RULE =
      "must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and not begin with " + PREFIX;

  private static final Pattern ID = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  public ApiKey {
    if (!isId(id)) {
      throw new IllegalArgumentException("the id of an API key " + ID_RULE);
    }
  }

  /**
   * Returns whether a text is a valid id. A text with the prefix of a key is not valid: it is
   * probably a key, and Weir must not store keys.
   */
  public static boolean isId(String text) {
    return ID.matcher(text).matches() && !text.startsWith(PREFIX);
  }

  /**
   * Returns whether the key has expired. A key that expires at 12:00:00.000 is accepted until
   * 11:59:59.999.
   */
  public boolean isExpired(long epochMillis) {
    return expiresAtEpochMillis != NEVER && epochMillis >= expiresAtEpochMillis;
  }
}
