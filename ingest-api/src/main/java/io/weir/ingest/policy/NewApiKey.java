// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import io.weir.limits.policy.ApiKey;
import io.weir.limits.policy.ApiKeyHash;
import java.security.SecureRandom;
import java.util.Base64;

/**
 * A newly created API key. Weir shows the key to the operator once, and then discards it. This
 * class is no record, because {@code toString} of a record would contain the key. Immutable.
 */
public final class NewApiKey {
  private static final int RANDOM_BYTES = 32;
  private static final SecureRandom RANDOM = new SecureRandom();

  private final String secret;

  private NewApiKey(String secret) {
    this.secret = secret;
  }

  /**
   * Creates a key of 256 random bits, which consists of {@code weir_} and 43 characters of
   * base64url.
   */
  public static NewApiKey random() {
    byte[] bytes = new byte[RANDOM_BYTES];
    RANDOM.nextBytes(bytes);
    return new NewApiKey(
        ApiKey.PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
  }

  /** Returns the key itself. Show it to the operator once, and do not store it. */
  public String secret() {
    return secret;
  }

  /** Returns the hash of the key, which the policy log stores. */
  public ApiKeyHash sha256() {
    return ApiKeyHash.of(secret);
  }

  /** Returns a text that does not contain the key. */
  @Override
  public String toString() {
    return "a new API key with SHA-256 " + sha256();
  }
}
