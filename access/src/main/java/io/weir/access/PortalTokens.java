// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.MACVerifier;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Issues and verifies short-lived tokens for the page on which a customer reads its usage. The
 * tokens are JSON Web Tokens (RFC 7519), signed with a secret that all processes share (HMAC with
 * SHA-256). Weir does not store the tokens, so it cannot revoke a single token. A token is valid
 * until it expires, or until a new secret invalidates all tokens. Thread-safe.
 */
public final class PortalTokens implements AutoCloseable {
  /** Maximum validity of a token. */
  public static final Duration MAX_VALIDITY = Duration.ofDays(1);

  private static final String ISSUER = "weir-portal";
  private static final int MIN_SECRET_BYTES = 32;
  private static final int MAX_SECRET_BYTES = 4_096;

  private final Clock clock;
  private final WatchedFile watched;
  private volatile byte[] secret;

  private PortalTokens(Path file, Clock clock) throws IOException {
    this.clock = clock;
    this.secret = read(file);
    this.watched = WatchedFile.start(List.of(file), () -> secret = read(file));
  }

  /**
   * Loads the secret from a file. The file is read again when its content changes.
   *
   * @throws IOException if the file cannot be read, or has fewer than 32 bytes
   */
  static PortalTokens open(Path file, Clock clock) throws IOException {
    return new PortalTokens(file, clock);
  }

  private static byte[] read(Path file) throws IOException {
    byte[] secret = Files.readAllBytes(file);
    if (secret.length < MIN_SECRET_BYTES || secret.length > MAX_SECRET_BYTES) {
      throw new IOException(
          "the file must have %d to %,d random bytes, but has %d"
              .formatted(MIN_SECRET_BYTES, MAX_SECRET_BYTES, secret.length));
    }
    return secret;
  }

  /**
   * Issues a token.
   *
   * @param clients the clients whose usage the bearer may read, at least one
   * @param validity how long the token is valid; positive, at most {@link #MAX_VALIDITY}
   */
  public String issue(Set<String> clients, Duration validity) {
    if (clients.isEmpty() || validity.isNegative() || validity.compareTo(MAX_VALIDITY) > 0) {
      throw new IllegalArgumentException(
          "clients must not be empty, and validity must be between PT0S and "
              + MAX_VALIDITY
              + ", but clients are "
              + clients
              + " and validity is "
              + validity);
    }
    Instant now = clock.instant();
    JWTClaimsSet claims =
        new JWTClaimsSet.Builder()
            .issuer(ISSUER)
            .issueTime(Date.from(now))
            .expirationTime(Date.from(now.plus(validity)))
            .claim(JwtTokens.CLIENTS_CLAIM, clients.stream().sorted().toList())
            .build();
    try {
      SignedJWT token =
          new SignedJWT(
              new JWSHeader.Builder(JWSAlgorithm.HS256).type(JOSEObjectType.JWT).build(), claims);
      token.sign(new MACSigner(secret));
      return token.serialize();
    } catch (JOSEException impossible) {
      throw new IllegalStateException("the secret is too short for the signature", impossible);
    }
  }

  /**
   * Returns whether a token has the form of a portal token. A token with this form is not
   * necessarily valid.
   */
  static boolean isOne(SignedJWT token) {
    return JWSAlgorithm.HS256.equals(token.getHeader().getAlgorithm());
  }

  /**
   * Verifies a token.
   *
   * @throws JwtTokens.InvalidException if the token is not valid
   */
  JwtTokens.Verified verify(SignedJWT token) throws JwtTokens.InvalidException {
    try {
      if (!token.verify(new MACVerifier(secret))) {
        throw new JwtTokens.InvalidException("the token is not signed with the current secret");
      }
      JWTClaimsSet claims = token.getJWTClaimsSet();
      Date expires = claims.getExpirationTime();
      List<String> clients = claims.getStringListClaim(JwtTokens.CLIENTS_CLAIM);
      if (!ISSUER.equals(claims.getIssuer())
          || expires == null
          || clients == null
          || clients.isEmpty()
          || clients.stream().anyMatch(Objects::isNull)) {
        throw new JwtTokens.InvalidException("the token is not for a client's page");
      }
      if (!clock.instant().isBefore(expires.toInstant())) {
        throw new JwtTokens.InvalidException("it has expired");
      }
      return new JwtTokens.Verified(
          new Grant("portal", Set.of(Scope.REPORT), new HashSet<>(clients)), expires.toInstant());
    } catch (JOSEException | ParseException invalid) {
      throw new JwtTokens.InvalidException(String.valueOf(invalid.getMessage()));
    }
  }

  @Override
  public void close() {
    watched.close();
  }
}
