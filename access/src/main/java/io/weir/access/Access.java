// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.nimbusds.jwt.SignedJWT;
import io.weir.limits.policy.ApiKeyHash;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Determines what the bearer of a token may do. A token is in the process's token file, signed by
 * an issuer, or issued for a client's page. If no tokens are configured, every request is allowed.
 * Thread-safe.
 */
public final class Access implements AutoCloseable {
  /** Time after which a token is verified again, and rejected if its key was revoked. */
  private static final Duration REMEMBERED = Duration.ofMinutes(5);

  /** Maximum number of verified tokens of issuers in the cache. */
  private static final int MAX_VERIFIED = 10_000;

  private final boolean isOpen;
  private final boolean isOfThisMachine;
  private final Clock clock;
  private final @Nullable WatchedFile watched;
  private final @Nullable JwtTokens issued;
  private final @Nullable PortalTokens portal;
  private final Cache<ApiKeyHash, JwtTokens.Verified> verified =
      Caffeine.newBuilder().maximumSize(MAX_VERIFIED).expireAfterWrite(REMEMBERED).build();
  private final String ownToken = BearerToken.create();
  private final ApiKeyHash ownHash = ApiKeyHash.of(ownToken);
  private volatile TokenFile tokens;

  private Access(AccessSettings settings, Clock clock) throws IOException {
    this.clock = clock;
    this.isOpen = !settings.hasTokens();
    this.isOfThisMachine = isOpen && !settings.unprotected();
    Path file = settings.tokensFile();
    this.tokens = file == null ? TokenFile.empty() : read(file);
    Path secret = settings.portalKeyFile();
    this.portal = secret == null ? null : PortalTokens.open(secret, clock);
    try {
      this.issued = settings.openIssuer(verified::invalidateAll);
    } catch (IOException | RuntimeException refused) {
      if (portal != null) {
        portal.close();
      }
      throw refused;
    }
    this.watched =
        file == null ? null : WatchedFile.start(List.of(file), () -> tokens = read(file));
  }

  /** The verdict on a request's token. */
  public sealed interface Verdict {}

  /** The token is valid. */
  public record Granted(Grant grant) implements Verdict {}

  /**
   * The token is missing or not valid.
   *
   * @param isMissing whether the request has no token
   * @param detail the reason; does not contain the token
   */
  public record Refused(boolean isMissing, String detail) implements Verdict {}

  private static final Verdict OPEN = new Granted(Grant.EVERYTHING);
  private static final Verdict OWN =
      new Granted(new Grant("this process", Set.of(Scope.CHECK), Set.of()));
  private static final Verdict MISSING =
      new Refused(true, "a token is required: Authorization: Bearer TOKEN");
  private static final Verdict UNKNOWN = new Refused(false, "the token is unknown");
  private static final Verdict EXPIRED = new Refused(false, "the token has expired");

  /** Creates an access control that allows every request. */
  public static Access ofEverybody() {
    try {
      return new Access(AccessSettings.NONE, Clock.systemUTC());
    } catch (IOException impossible) {
      throw new IllegalStateException("no file is read", impossible);
    }
  }

  /**
   * Creates an access control from the files that the settings name. The access control reads the
   * files again when their content changes, and logs and ignores invalid content.
   *
   * @throws io.weir.topics.settings.Settings.InvalidSettingException if a file cannot be read or is
   *     not valid
   */
  public static Access open(AccessSettings settings) {
    try {
      return new Access(settings, Clock.systemUTC());
    } catch (IOException invalid) {
      throw settings.refused(invalid);
    }
  }

  private static TokenFile read(Path file) throws IOException {
    try {
      return TokenFile.parse(Files.readString(file, StandardCharsets.UTF_8));
    } catch (TokenFile.InvalidException invalid) {
      throw new IOException(invalid.getMessage(), invalid);
    }
  }

  /** Returns whether every request is allowed because no tokens are configured. */
  public boolean isOpen() {
    return isOpen;
  }

  /**
   * Returns whether the process serves only local requests, without tokens. A process without
   * tokens must reject requests that a web page of another host causes in a browser of this
   * machine.
   */
  boolean isOfThisMachine() {
    return isOfThisMachine;
  }

  /**
   * Returns the token that this process uses for requests to itself. The token has the scope {@code
   * check}, and only this process knows it.
   */
  public String ownToken() {
    return ownToken;
  }

  /** Returns the issuer of tokens for clients' pages; empty if no secret is configured. */
  public Optional<PortalTokens> portal() {
    return Optional.ofNullable(portal);
  }

  /**
   * Returns the verdict on a request; empty if the verdict requires a wait or the verification of a
   * signature.
   *
   * @param authorization value of the header field Authorization; null if the request lacks this
   *     field
   */
  Optional<Verdict> known(@Nullable String authorization) {
    if (isOpen) {
      return Optional.of(OPEN);
    }
    String token = authorization == null ? "" : BearerToken.in(authorization);
    if (token.isEmpty()) {
      return Optional.of(MISSING);
    }
    ApiKeyHash hash = ApiKeyHash.of(token);
    if (hash.equals(ownHash)) {
      return Optional.of(OWN);
    }
    Optional<TokenFile.Entry> entry = tokens.find(hash);
    if (entry.isPresent()) {
      return Optional.of(
          entry.get().isExpired(clock.instant()) ? EXPIRED : new Granted(entry.get().grant()));
    }
    if (issued == null && portal == null) {
      return Optional.of(UNKNOWN);
    }
    JwtTokens.Verified before = verified.getIfPresent(hash);
    return before == null ? Optional.empty() : Optional.of(verdict(before));
  }

  private Verdict verdict(JwtTokens.Verified token) {
    if (!clock.instant().isBefore(token.expiresAt())) {
      return EXPIRED;
    }
    return token.grant() == null
        ? new Refused(
            false, "the token must have the scope check, report or admin, but has none of them")
        : new Granted(token.grant());
  }

  /**
   * Returns whether the verdict on a request is known without a wait or the verification of a
   * signature.
   *
   * @param authorization value of the header field Authorization; null if the request lacks this
   *     field
   */
  public boolean isKnown(@Nullable String authorization) {
    return known(authorization).isPresent();
  }

  /**
   * Returns the verdict on a request. The method may wait for the keys of an issuer.
   *
   * @param authorization value of the header field Authorization; null if the request lacks this
   *     field
   */
  public Verdict of(@Nullable String authorization) {
    return known(authorization)
        .orElseGet(() -> verify(BearerToken.in(String.valueOf(authorization))));
  }

  private Verdict verify(String token) {
    try {
      SignedJWT signed = JwtVerifier.parse(token);
      if (!JwtVerifier.isWrittenAsItShould(token, signed)) {
        return UNKNOWN;
      }
      JwtTokens.Verified valid;
      boolean isOfPortal = PortalTokens.isOne(signed);
      if (isOfPortal && portal != null) {
        // not cached, because these tokens become invalid when the secret changes
        return verdict(portal.verify(signed));
      } else if (!isOfPortal && issued != null) {
        valid = issued.verify(token);
      } else {
        return UNKNOWN;
      }
      verified.put(ApiKeyHash.of(token), valid);
      return verdict(valid);
    } catch (ParseException noJwt) {
      return UNKNOWN;
    } catch (JwtTokens.InvalidException invalid) {
      return new Refused(false, "the token is not valid: " + invalid.getMessage());
    }
  }

  @Override
  public void close() {
    if (watched != null) {
      watched.close();
    }
    if (issued != null) {
      issued.close();
    }
    if (portal != null) {
      portal.close();
    }
  }
}
