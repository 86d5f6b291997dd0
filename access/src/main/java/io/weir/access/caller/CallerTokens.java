// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jose.proc.BadJWSException;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.jwt.proc.BadJWTException;
import com.nimbusds.jwt.proc.ExpiredJWTException;
import io.weir.access.JwtVerifier;
import io.weir.access.PublishedKeys;
import io.weir.limits.Names;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.io.IOException;
import java.text.ParseException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Verifies the tokens of callers without blocking the calling thread. The tokens are JSON Web
 * Tokens of one issuer. Thread-safe.
 *
 * <p>A few dedicated threads verify the tokens, and each token only once. A valid token is cached
 * by its hash until it expires or the issuer revokes a key. Rejected tokens are not cached, so they
 * cannot displace valid tokens from the cache. Rejected tokens cost only the time of the dedicated
 * threads. If too many tokens are waiting, a new token is rejected. Many forged tokens therefore
 * delay only new tokens.
 */
public final class CallerTokens implements AutoCloseable {
  /**
   * Maximum length of a token in characters. All header fields of a request together have at most 8
   * KiB.
   */
  public static final int MAX_CHARS = 6 * 1_024;

  /**
   * Maximum number of tokens that wait for verification. At 0.2 ms per signature, the longest wait
   * is about 50 ms.
   */
  static final int MAX_WAITING = 256;

  /**
   * Maximum number of calls that wait for the issuer's keys, over all tokens. While the issuer is
   * slow, tokens with unknown keys therefore cannot block all calls.
   */
  static final int MAX_WAITING_FOR_KEYS = 64;

  /**
   * Maximum length of an attribute's value in characters. The same maximum applies to an attribute
   * in the body of a check.
   */
  private static final int MAX_ATTRIBUTE_CHARS = 1_024;

  /**
   * Maximum size of the cache in characters: the clients and attributes of all tokens, and {@link
   * #WEIGHT} per token.
   */
  private static final long MAX_REMEMBERED_CHARS = 32L << 20;

  /** Memory of a cached token without its client and attributes, in characters. */
  private static final int WEIGHT = 200;

  private static final Duration LONGEST_REMEMBERED = Duration.ofDays(1);
  private static final Duration IDLE_THREAD = Duration.ofSeconds(10);

  private static final Verdict NOT_SIGNED = new Refused("is not a signed JWT");

  private final CallerTokenSettings settings;
  private final Clock clock;
  private final PublishedKeys keys;
  private final JwtVerifier verifier;
  private final ThreadPoolExecutor verifying;

  /**
   * The verifications in progress. All calls with the same new token share one place in the queue.
   */
  private final Verifications verifications = new Verifications(MAX_WAITING_FOR_KEYS);

  private final AtomicLong timesForgotten = new AtomicLong();
  private final Cache<ApiKeyHash, Remembered> remembered =
      Caffeine.newBuilder()
          .maximumWeight(MAX_REMEMBERED_CHARS)
          .weigher((ApiKeyHash hash, Remembered token) -> token.chars())
          .expireAfter(
              Expiry.creating((ApiKeyHash hash, Remembered token) -> token.until(instant())))
          .build();

  private record Remembered(Caller caller, Instant expiresAt) {
    int chars() {
      int chars = WEIGHT + caller.client().length();
      for (Map.Entry<String, String> attribute : caller.attributes().entrySet()) {
        chars += attribute.getKey().length() + attribute.getValue().length();
      }
      return chars;
    }

    Duration until(Instant now) {
      Duration left = Duration.between(now, expiresAt);
      return left.compareTo(LONGEST_REMEMBERED) < 0 ? left : LONGEST_REMEMBERED;
    }
  }

  /** The verdict on a token. */
  public sealed interface Verdict {}

  /** The token is valid. */
  public record Known(Caller caller) implements Verdict {}

  /**
   * The token is not valid.
   *
   * @param rule the reason, as a phrase that follows "the token". The phrase has only visible ASCII
   *     characters and spaces, no quotation marks, and no part of the token
   */
  public record Refused(String rule) implements Verdict {}

  /** The token cannot be verified at present. */
  public enum Undecided implements Verdict {
    /** Too many tokens are waiting for verification. */
    BUSY,
    /** The token's signing key is unknown, and the last fetch of the issuer's keys failed. */
    KEYS_UNAVAILABLE
  }

  private CallerTokens(CallerTokenSettings settings, int threads, Clock clock, ThreadFactory making)
      throws IOException {
    this.settings = settings;
    this.clock = clock;
    this.keys = PublishedKeys.open(settings.keys(), this::forget);
    this.verifier = new JwtVerifier(keys, settings.issuer(), settings.audience(), Set.of("exp"));
    this.verifying =
        new ThreadPoolExecutor(
            threads,
            threads,
            IDLE_THREAD.toMillis(),
            TimeUnit.MILLISECONDS,
            new LinkedBlockingQueue<>(MAX_WAITING),
            making);
    verifying.allowCoreThreadTimeOut(true);
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "weir-caller-tokens");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Opens a verifier with the keys from the location in the settings. The method also succeeds if
   * the issuer is unavailable.
   *
   * @throws InvalidSettingException if the file of keys cannot be read, or has no keys
   */
  public static CallerTokens open(CallerTokenSettings settings) {
    // use at most half of the processors for signatures
    int threads = Math.max(1, Runtime.getRuntime().availableProcessors() / 2);
    return open(settings, threads, Clock.systemUTC());
  }

  static CallerTokens open(CallerTokenSettings settings, int threads, Clock clock) {
    return open(settings, threads, clock, CallerTokens::thread);
  }

  static CallerTokens open(
      CallerTokenSettings settings, int threads, Clock clock, ThreadFactory making) {
    try {
      return new CallerTokens(settings, threads, clock, making);
    } catch (IOException invalid) {
      throw new InvalidSettingException(CallerTokenSettings.JWKS + ": " + invalid.getMessage());
    }
  }

  private Instant instant() {
    return clock.instant();
  }

  /** Returns the caller of a token if the token is in the cache and still valid. */
  public Optional<Caller> known(String token) {
    Remembered before = remembered.getIfPresent(ApiKeyHash.of(token));
    return before == null || !instant().isBefore(before.expiresAt())
        ? Optional.empty()
        : Optional.of(before.caller());
  }

  /**
   * Verifies a token without blocking; concurrent calls with the same token share one verification.
   * Another thread completes the future within seconds. Stages that depend on the future must not
   * block the completing thread.
   */
  public CompletableFuture<Verdict> verify(String token) {
    ApiKeyHash hash = ApiKeyHash.of(token);
    CompletableFuture<Verdict> answer = new CompletableFuture<>();
    if (verifications.add(hash, answer)) {
      submit(token, hash, false);
    }
    return answer;
  }

  /** Returns the number of tokens that wait for verification. */
  int waiting() {
    return verifying.getQueue().size();
  }

  /** Returns an upper bound of the number of cached tokens. */
  long remembered() {
    remembered.cleanUp();
    return remembered.estimatedSize();
  }

  private void submit(String token, ApiKeyHash hash, boolean isLastTry) {
    try {
      verifying.execute(
          () -> {
            try {
              Verdict verdict = verdict(token);
              if (verdict != null) {
                verifications.complete(hash, verdict);
              } else if (isLastTry) {
                verifications.complete(hash, ofUnknownKey());
              } else {
                awaitKeys(token, hash);
              }
            } catch (RuntimeException | Error fault) {
              verifications.fail(hash, fault);
            }
          });
    } catch (RejectedExecutionException full) {
      verifications.complete(hash, Undecided.BUSY);
    } catch (RuntimeException | Error fault) {
      // no thread was available; later calls with the token must not wait for this verification
      verifications.fail(hash, fault);
    }
  }

  private void awaitKeys(String token, ApiKeyHash hash) {
    if (verifications.awaitKeys(hash)) {
      var unused =
          keys.refresh()
              .whenComplete(
                  (done, failed) -> {
                    verifications.haveKeys(hash);
                    submit(token, hash, true);
                  });
    }
  }

  private Verdict ofUnknownKey() {
    return keys.isCurrent()
        ? new Refused("is signed with a key that its issuer does not publish")
        : Undecided.KEYS_UNAVAILABLE;
  }

  /** Returns the verdict on a token; null if the token's signing key is unknown. */
  private @Nullable Verdict verdict(String token) {
    try {
      SignedJWT signed = JwtVerifier.parse(token);
      // otherwise, one valid token could have many forms and displace other tokens from the cache
      if (!JwtVerifier.isWrittenAsItShould(token, signed)) {
        return NOT_SIGNED;
      }
      JWSHeader header = signed.getHeader();
      if (!JwtVerifier.accepts(header.getAlgorithm())) {
        return new Refused("is signed with an algorithm that is not accepted");
      }
      return keys.has(header) ? verdict(token, signed) : null;
    } catch (ParseException malformed) {
      return NOT_SIGNED;
    }
  }

  private Verdict verdict(String token, SignedJWT signed) throws ParseException {
    long before = timesForgotten.get();
    try {
      JWTClaimsSet claims = verifier.verify(token);
      Instant expiresAt = claims.getExpirationTime().toInstant();
      if (!instant().isBefore(expiresAt)) {
        return new Refused("has expired");
      }
      Verdict verdict = ofClaims(claims.toJSONObject());
      if (verdict instanceof Known known) {
        remember(ApiKeyHash.of(token), new Remembered(known.caller(), expiresAt), before);
      }
      return verdict;
    } catch (ExpiredJWTException expired) {
      return new Refused("has expired");
    } catch (BadJWTException refused) {
      return new Refused(whyNotAccepted(signed));
    } catch (BadJWSException refused) {
      return new Refused("was not signed by its issuer");
    } catch (BadJOSEException refused) {
      return new Refused("is of a type (typ) that is not accepted");
    } catch (JOSEException refused) {
      return new Refused("has a signature that cannot be verified");
    }
  }

  /**
   * Returns which claim is not accepted, without text from the library. The caller has already
   * verified the signature.
   */
  private String whyNotAccepted(SignedJWT signed) throws ParseException {
    JWTClaimsSet claims = signed.getJWTClaimsSet();
    if (!settings.issuer().equals(claims.getIssuer())) {
      return "has another issuer (iss)";
    }
    if (!claims.getAudience().contains(settings.audience())) {
      return "has another audience (aud)";
    }
    return claims.getExpirationTime() == null ? "has no expiry (exp)" : "is not valid yet (nbf)";
  }

  private Verdict ofClaims(Map<String, Object> claims) {
    ClaimPath path = settings.client();
    Object client = path.in(claims);
    if (client == null) {
      return new Refused("has no claim " + path);
    }
    if (!(client instanceof String name)) {
      return new Refused("has a claim " + path + " that is not a string");
    }
    String violation = Names.violation(name);
    if (violation != null) {
      return new Refused("has a claim " + path + ", which " + violation);
    }
    Map<String, String> attributes = new HashMap<>();
    for (Map.Entry<String, ClaimPath> each : settings.attributes().entrySet()) {
      String value = attribute(each.getValue().in(claims));
      if (value != null && value.length() > MAX_ATTRIBUTE_CHARS) {
        return new Refused(
            "has a claim "
                + each.getValue()
                + ", which must have at most "
                + MAX_ATTRIBUTE_CHARS
                + " characters");
      }
      if (value != null) {
        attributes.put(each.getKey(), value);
      }
    }
    return new Known(new Caller(name, attributes));
  }

  /** Returns a string, an integer or a boolean as text; null for any other value. */
  private static @Nullable String attribute(@Nullable Object value) {
    return value instanceof String
            || value instanceof Boolean
            || value instanceof Long
            || value instanceof Integer
        ? value.toString()
        : null;
  }

  private void remember(ApiKeyHash hash, Remembered token, long forgottenBefore) {
    remembered.put(hash, token);
    if (timesForgotten.get() != forgottenBefore) {
      // a key was revoked meanwhile; it may be the key of this token
      remembered.invalidate(hash);
    }
  }

  private void forget() {
    timesForgotten.incrementAndGet();
    remembered.invalidateAll();
  }

  @Override
  public void close() {
    verifying.shutdownNow();
    verifications.completeAll(Undecided.BUSY);
    keys.close();
  }
}
