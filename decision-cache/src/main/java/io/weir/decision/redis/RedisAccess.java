// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What a connection to Redis needs besides the address: certificates for TLS, and the credentials
 * of sentinels, which are not those of the servers that they watch. The files are read anew for
 * each connection, so a certificate may be replaced while connections are open. Immutable.
 *
 * @param authorities certificates of the authorities that are trusted, in PEM; null for those of
 *     the Java platform
 * @param certificate this client's certificate, followed by those of its issuers, in PEM; null for
 *     none
 * @param key the certificate's private key, in PEM (PKCS #8), without a password; null for none
 * @param sentinelUser the sentinels' user; empty for the default user
 * @param sentinelPassword the sentinels' password; empty for none
 */
public record RedisAccess(
    @Nullable Path authorities,
    @Nullable Path certificate,
    @Nullable Path key,
    String sentinelUser,
    String sentinelPassword) {
  /** Neither certificates nor credentials of sentinels. */
  public static final RedisAccess NONE = new RedisAccess(null, null, null, "", "");

  public RedisAccess {
    if ((certificate == null) != (key == null)) {
      throw new IllegalArgumentException("a certificate and its key are given together or not");
    }
  }

  /** Returns whether any file is named. */
  boolean hasFiles() {
    return authorities != null || certificate != null;
  }

  /** Returns the names of the files, and not the password. */
  @Override
  public String toString() {
    return "tls_ca="
        + shown(authorities)
        + " tls_certificate="
        + shown(certificate)
        + " sentinel_password="
        + (sentinelPassword.isEmpty() ? "none" : "***");
  }

  private static String shown(@Nullable Path file) {
    return file == null ? "none" : file.toString();
  }
}
