// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.regex.Pattern;

/**
 * An API key of a client. Weir knows only its hash. Immutable.
 *
 * @param id distinguishes the keys of a client for people; unique within the client
 * @param sha256 the hash of the key
 * @param expiresAtEpochMillis first moment at which the key is not accepted; {@link #NEVER} if it
 *     does not expire
 */
public record ApiKey(String id, ApiKeyHash sha256, long expiresAtEpochMillis) {
  /** The expiry of a key that does not expire. */
  public static final long NEVER = Long.MAX_VALUE;

  /** Prefix of every key that Weir creates, by which secret scanners find leaked keys. */
  public static final String PREFIX = "weir_";

  /** The rule for an id, worded to follow the subject. */
  public static final String ID_RULE =
      "must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and not begin with " + PREFIX;

  private static final Pattern ID = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  public ApiKey {
    if (!isId(id)) {
      throw new IllegalArgumentException("the id of an API key " + ID_RULE);
    }
  }

  /**
   * Returns whether a text may be an id. A text with the prefix of a key is not accepted: it is
   * probably a key, which must not be stored.
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
