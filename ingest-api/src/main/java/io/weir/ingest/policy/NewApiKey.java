// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import io.weir.limits.policy.ApiKey;
import io.weir.limits.policy.ApiKeyHash;
import java.security.SecureRandom;
import java.util.Base64;

/**
 * An API key that was just created. Only at this moment Weir has the key itself; the operator sees
 * it, and Weir then discards it. Immutable; not a record, because a record's text would contain the
 * key.
 */
public final class NewApiKey {
  private static final int RANDOM_BYTES = 32;
  private static final SecureRandom RANDOM = new SecureRandom();

  private final String secret;

  private NewApiKey(String secret) {
    this.secret = secret;
  }

  /** Creates a key of 256 random bits: {@code weir_} and 43 characters of base64url. */
  public static NewApiKey random() {
    byte[] bytes = new byte[RANDOM_BYTES];
    RANDOM.nextBytes(bytes);
    return new NewApiKey(
        ApiKey.PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
  }

  /** Returns the key itself, which must be shown once, to the operator, and stored nowhere. */
  public String secret() {
    return secret;
  }

  /** Returns the hash of the key, which is published. */
  public ApiKeyHash sha256() {
    return ApiKeyHash.of(secret);
  }

  /** Returns a text without the key, for code that shows objects by their text. */
  @Override
  public String toString() {
    return "a new API key of SHA-256 " + sha256();
  }
}
