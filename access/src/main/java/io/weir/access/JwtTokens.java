// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jwt.JWTClaimsSet;
import java.io.IOException;
import java.text.ParseException;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Verifies the tokens of an issuer: JSON Web Tokens (RFC 7519, RFC 9068) that are signed with a key
 * of the issuer's JWK set (RFC 7517). Thread-safe.
 *
 * <p>The scopes of a token are {@code weir:check}, {@code weir:report} and {@code weir:admin}. The
 * scopes are in the claim {@code scope} (separated by spaces, RFC 8693 §4.2) or in the claim {@code
 * scp} (a list). Weir ignores other scopes. The claim {@code weir_clients}, a string or a list,
 * restricts the token to reading the usage of these clients.
 */
final class JwtTokens implements AutoCloseable {
  static final String CLIENTS_CLAIM = "weir_clients";
  private static final String SCOPE_PREFIX = "weir:";

  private final JwtVerifier verifier;
  private final PublishedKeys keys;

  /**
   * A valid token.
   *
   * @param grant the permissions; null if the token has no scope of Weir
   * @param expiresAt time from which on the token is not valid
   */
  record Verified(@Nullable Grant grant, Instant expiresAt) {}

  /**
   * Thrown when a token is not valid. The message states the reason, and does not contain the
   * token.
   */
  static final class InvalidException extends Exception {
    private static final long serialVersionUID = 1L;

    InvalidException(String message) {
      super(message, null, false, false);
    }
  }

  private JwtTokens(PublishedKeys keys, String issuer, String audience) {
    this.keys = keys;
    this.verifier = new JwtVerifier(keys, issuer, audience, Set.of("sub", "exp"));
  }

  /**
   * Loads the keys of a file or of an issuer. A file is read again when its content changes.
   *
   * @param onRemoved action that runs after a key was removed or replaced
   * @throws IOException if a file cannot be read, or is not a JWK set
   */
  static JwtTokens open(JwksPlace place, String issuer, String audience, Runnable onRemoved)
      throws IOException {
    return new JwtTokens(PublishedKeys.open(place, onRemoved), issuer, audience);
  }

  /**
   * Verifies a token. If the token's key is unknown, the method waits until {@link
   * PublishedKeys#refresh} has fetched the issuer's newest keys. Keys are fetched at most every ten
   * seconds.
   *
   * @throws InvalidException if the token is not valid
   */
  Verified verify(String token) throws InvalidException {
    try {
      if (!keys.has(JwtVerifier.parse(token).getHeader())) {
        keys.refresh().join();
      }
      JWTClaimsSet claims = verifier.verify(token);
      return new Verified(grant(claims), claims.getExpirationTime().toInstant());
    } catch (ParseException malformed) {
      throw new InvalidException("it is not a signed JWT");
    } catch (BadJOSEException | JOSEException refused) {
      throw new InvalidException(String.valueOf(refused.getMessage()));
    }
  }

  private static @Nullable Grant grant(JWTClaimsSet claims) throws InvalidException {
    Set<Scope> scopes = new HashSet<>();
    for (String word : words(claims)) {
      if (word.startsWith(SCOPE_PREFIX)) {
        Scope.of(word.substring(SCOPE_PREFIX.length())).ifPresent(scopes::add);
      }
    }
    Set<String> clients = clients(claims);
    if (!clients.isEmpty()) {
      scopes.retainAll(Set.of(Scope.REPORT));
    }
    return scopes.isEmpty() ? null : new Grant(claims.getSubject(), scopes, clients);
  }

  private static List<String> words(JWTClaimsSet claims) throws InvalidException {
    Object scope = claims.getClaim("scope");
    if (scope instanceof String text) {
      return Arrays.asList(text.split(" ", -1));
    }
    return texts(scope == null ? claims.getClaim("scp") : scope, "scope");
  }

  /**
   * Returns the clients to which a token is restricted; empty if the token lacks the claim. The
   * method rejects a malformed claim, because a token whose restriction is ignored would allow all
   * clients.
   */
  private static Set<String> clients(JWTClaimsSet claims) throws InvalidException {
    if (!claims.getClaims().containsKey(CLIENTS_CLAIM)) {
      return Set.of();
    }
    Object value = claims.getClaim(CLIENTS_CLAIM);
    if (value == null) {
      throw new InvalidException(
          "the claim " + CLIENTS_CLAIM + " must be a list of names, but is null");
    }
    Set<String> clients =
        new HashSet<>(value instanceof String one ? List.of(one) : texts(value, CLIENTS_CLAIM));
    if (clients.isEmpty()) {
      throw new InvalidException(
          "the claim " + CLIENTS_CLAIM + " must have at least one client, but has no client");
    }
    return clients;
  }

  private static List<String> texts(@Nullable Object value, String claim) throws InvalidException {
    if (value == null) {
      return List.of();
    }
    if (value instanceof List<?> list && list.stream().allMatch(String.class::isInstance)) {
      return list.stream().map(String.class::cast).toList();
    }
    throw new InvalidException("the claim " + claim + " must be a string or a list of strings");
  }

  @Override
  public void close() {
    keys.close();
  }
}
