// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.security.SecureRandom;
import java.util.Base64;

/** Creates bearer tokens, and reads them from requests. Stateless and thread-safe. */
public final class BearerToken {
  /** Prefix of every token that Weir creates. Secret scanners find leaked tokens by this prefix. */
  public static final String PREFIX = "weirt_";

  private static final int RANDOM_BYTES = 32;
  private static final String SCHEME = "Bearer ";

  /** Maximum length of a token in characters. An issuer's tokens can have several kilobytes. */
  private static final int MAX_CHARS = 8_192;

  private static final SecureRandom RANDOM = new SecureRandom();

  private BearerToken() {}

  /** Returns a new token of 256 random bits. */
  public static String create() {
    byte[] bytes = new byte[RANDOM_BYTES];
    RANDOM.nextBytes(bytes);
    return PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  /**
   * Returns the token in the header field Authorization (RFC 6750 §2.1); empty if there is no
   * token.
   *
   * @param authorization the value of the field
   */
  static String in(String authorization) {
    boolean isBearer = authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length());
    String token = isBearer ? authorization.substring(SCHEME.length()).strip() : "";
    return token.length() > MAX_CHARS ? "" : token;
  }
}
