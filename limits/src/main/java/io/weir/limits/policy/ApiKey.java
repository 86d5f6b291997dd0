// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.regex.Pattern;

/**
 * An API key of a client, of which only the hash is known. Immutable.
 *
 * @param id by which people tell the keys of a client apart; unique in the client
 * @param sha256 the hash of the key
 * @param expiresAtEpochMillis from this moment on the key is not accepted; {@link #NEVER} if it
 *     does not expire
 */
public record ApiKey(String id, ApiKeyHash sha256, long expiresAtEpochMillis) {
  /** Stands for a key that does not expire. */
  public static final long NEVER = Long.MAX_VALUE;

  /** What every key that Weir makes begins with, so that tools find keys that have leaked. */
  public static final String PREFIX = "weir_";

  /** What an id must be, in words. */
  public static final String ID_RULE =
      "must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and not begin with " + PREFIX;

  private static final Pattern ID = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  public ApiKey {
    if (!isId(id)) {
      throw new IllegalArgumentException("the id of an API key " + ID_RULE);
    }
  }

  /**
   * Returns whether a text may be an id. What begins like a key is not accepted: it is probably a
   * key, which must not be kept.
   */
  public static boolean isId(String text) {
    return ID.matcher(text).matches() && !text.startsWith(PREFIX);
  }

  /**
   * Returns whether the key is not accepted any more: a key that expires at 12:00:00.000 is
   * accepted at 11:59:59.999 for the last time.
   */
  public boolean isExpired(long epochMillis) {
    return expiresAtEpochMillis != NEVER && epochMillis >= expiresAtEpochMillis;
  }
}
