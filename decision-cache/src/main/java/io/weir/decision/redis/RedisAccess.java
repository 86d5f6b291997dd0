// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.SslOptions;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * TLS certificates for connections to Redis, and the credentials of sentinels. The credentials of
 * sentinels may differ from the credentials of the monitored servers. The files are read for each
 * new connection; a certificate can therefore be replaced while connections are open. Immutable.
 *
 * @param authorities certificates of the trusted authorities, in PEM; null for the authorities of
 *     the Java platform
 * @param certificate this client's certificate, followed by the certificates of its issuers, in
 *     PEM; null without a client certificate
 * @param key the private key of the certificate, in PEM (PKCS #8), without a password; null without
 *     a client certificate
 * @param sentinelUser user for the sentinels; empty for the default user
 * @param sentinelPassword password for the sentinels; empty for no password
 */
public record RedisAccess(
    @Nullable Path authorities,
    @Nullable Path certificate,
    @Nullable Path key,
    String sentinelUser,
    String sentinelPassword) {
  /** No certificates and no sentinel credentials. */
  public static final RedisAccess NONE = new RedisAccess(null, null, null, "", "");

  public RedisAccess {
    if ((certificate == null) != (key == null)) {
      throw new IllegalArgumentException("a certificate and its key must be set together");
    }
  }

  /**
   * Returns the certificates for the client library. The library reads the files for each
   * connection.
   */
  SslOptions sslOptions() {
    SslOptions.Builder options = SslOptions.builder().jdkSslProvider();
    if (authorities != null) {
      options.trustManager(authorities.toFile());
    }
    if (certificate != null && key != null) {
      options.keyManager(certificate.toFile(), key.toFile(), new char[0]);
    }
    return options.build();
  }

  /** Returns whether a file is set. */
  boolean hasFiles() {
    return authorities != null || certificate != null;
  }

  /** Returns the names of the files. The text does not contain the password. */
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
