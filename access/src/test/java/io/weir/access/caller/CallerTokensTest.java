// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSObject;
import com.nimbusds.jose.Payload;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.util.Base64URL;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import io.weir.access.caller.CallerTokens.Known;
import io.weir.access.caller.CallerTokens.Refused;
import io.weir.access.caller.CallerTokens.Undecided;
import io.weir.access.caller.CallerTokens.Verdict;
import io.weir.servers.testing.CallerIssuer;
import io.weir.testing.Await;
import io.weir.topics.settings.Settings;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CallerTokensTest {
  private static final int CALLS_OF_A_ROUND = 200;

  /**
   * Minimum time after which the fetch from an issuer that does not reply is aborted: one second.
   */
  private static final Duration SHORTEST_HOLD = Duration.ofMillis(900);

  private final HandClock clock = new HandClock();
  private CallerIssuer issuer;
  private CallerTokens tokens;

  @BeforeEach
  void open() throws Exception {
    issuer = CallerIssuer.start();
    tokens = open(Map.of("WEIR_AUTHZ_JWT_ATTRIBUTES", "plan,tier=/org/tier,level,paid"));
    String expired = issuer.sign(claims("acme").expirationTime(in(-1_000)));
    // on a busy machine, the issuer's first response may be too late, so the keys are fetched again
    Await.until(
        "the issuer's keys are known", () -> verify(expired).equals(new Refused("has expired")));
  }

  @AfterEach
  void close() {
    tokens.close();
    issuer.close();
  }

  private CallerTokens open(Map<String, String> more) {
    return CallerTokens.open(settings(more), 1, clock);
  }

  private CallerTokenSettings settings(Map<String, String> more) {
    Map<String, String> variables = new HashMap<>(issuer.settings("/org/id"));
    variables.putAll(more);
    return Objects.requireNonNull(CallerTokenSettings.of(Settings.of(variables)));
  }

  private static JWTClaimsSet.Builder claims(String client) {
    return CallerIssuer.claims("user-7").claim("org", Map.of("id", client, "tier", "gold"));
  }

  private Verdict verify(String token) throws Exception {
    return tokens.verify(token).get(1, TimeUnit.MINUTES);
  }

  private void assertRefused(String token, String rule) throws Exception {
    List<Verdict> verdicts = new ArrayList<>();
    Await.until(
        "the issuer to give its keys",
        () -> {
          verdicts.clear();
          verdicts.add(verify(token));
          return verdicts.get(0) != Undecided.KEYS_UNAVAILABLE;
        });
    assertEquals(new Refused(rule), verdicts.get(0));
    assertEquals(Optional.empty(), tokens.known(token));
  }

  private String clientOf(String token) throws Exception {
    return assertInstanceOf(Known.class, verify(token)).caller().client();
  }

  @Test
  void token_tellsTheClient_andIsRemembered() throws Exception {
    String token =
        issuer.sign(
            claims("acme")
                .claim("plan", List.of("no text"))
                .claim("level", 5)
                .claim("paid", true)
                .claim("other", "x"));
    assertEquals(Optional.empty(), tokens.known(token));

    Caller caller = new Caller("acme", Map.of("tier", "gold", "level", "5", "paid", "true"));
    assertEquals(new Known(caller), verify(token));

    assertEquals(Optional.of(caller), tokens.known(token));
  }

  /** All calls of a caller have its new token at the same time. */
  @Test
  void manyCallsWithOneNewToken_allSucceed() throws Exception {
    for (int round = 0; round < 5; round++) {
      String token = issuer.sign(claims("acme").jwtID("round-" + round));
      List<CompletableFuture<Verdict>> all = new ArrayList<>();
      for (int i = 0; i < 4 * CallerTokens.MAX_WAITING; i++) {
        all.add(tokens.verify(token));
      }
      for (CompletableFuture<Verdict> each : all) {
        assertInstanceOf(Known.class, each.get(1, TimeUnit.MINUTES));
      }
    }
  }

  /** Regression: such tokens caused a response 500 and a stack trace in the log. */
  @Test
  void tokenOnWhichTheLibraryFails_isRefused() throws Exception {
    assertRefused("bnVsbA.e30.AA", "is not a signed JWT"); // its header is null
    JWSObject withoutAnEnd =
        new JWSObject(
            new JWSHeader.Builder(JWSAlgorithm.ES256).keyID(issuer.key().getKeyID()).build(),
            new Payload(
                "{\"iss\":\"https://callers.example\",\"aud\":\"shop\",\"exp\":null,"
                    + "\"org\":{\"id\":\"acme\"}}"));
    withoutAnEnd.sign(new ECDSASigner(issuer.key()));
    assertRefused(withoutAnEnd.serialize(), "has no expiry (exp)");
  }

  @Test
  void tokenThatIsRemembered_endsWhenItExpires() throws Exception {
    String token = issuer.sign(claims("acme"));
    verify(token);
    clock.advance(Duration.ofSeconds(590));
    assertTrue(tokens.known(token).isPresent());

    clock.advance(Duration.ofSeconds(11));

    assertEquals(Optional.empty(), tokens.known(token));
    assertRefused(token, "has expired");
  }

  @Test
  void tokenThatIsNotForTheseCallers_isRefusedByItsRule() throws Exception {
    assertRefused(issuer.sign(claims("a").issuer("x")), "has another issuer (iss)");
    assertRefused(issuer.sign(claims("a").audience("x")), "has another audience (aud)");
    assertRefused(issuer.sign(claims("a").expirationTime(null)), "has no expiry (exp)");
    assertRefused(issuer.sign(claims("a").expirationTime(in(-1))), "has expired");
    assertRefused(issuer.sign(claims("a").expirationTime(in(-1_000))), "has expired");
    assertRefused(issuer.sign(claims("a").notBeforeTime(in(300))), "is not valid yet (nbf)");
    assertRefused(typed("logout+jwt"), "is of a type (typ) that is not accepted");
    assertInstanceOf(Known.class, verify(typed("at+jwt")));
  }

  private static Date in(long seconds) {
    return Date.from(Instant.now().plusSeconds(seconds));
  }

  private String typed(String type) throws Exception {
    SignedJWT token =
        new SignedJWT(
            new JWSHeader.Builder(JWSAlgorithm.ES256)
                .keyID(issuer.key().getKeyID())
                .type(new JOSEObjectType(type))
                .build(),
            claims("a").build());
    token.sign(new ECDSASigner(issuer.key()));
    return token.serialize();
  }

  @Test
  void claimThatIsNoClient_isRefusedByItsRule() throws Exception {
    assertRefused(issuer.token("user-7"), "has no claim /org/id");
    assertRefused(issuer.sign(of(5)), "has a claim /org/id that is not a string");
    assertRefused(issuer.sign(of(List.of("a"))), "has a claim /org/id that is not a string");
    assertRefused(issuer.sign(of("")), "has a claim /org/id, which must not be empty");
    assertRefused(
        issuer.sign(of("x".repeat(257))),
        "has a claim /org/id, which must have at most 256 bytes of UTF-8, but has 257");
    assertRefused(
        issuer.sign(of("a\n")),
        "has a claim /org/id, which must not contain control characters (U+000A at index 1)");
    assertRefused(
        issuer.sign(claims("a").claim("plan", "x".repeat(1_025))),
        "has a claim plan, which must have at most 1024 characters");
    assertEquals("zo\u00eb", clientOf(issuer.sign(of("zo\u00eb"))));
  }

  private static JWTClaimsSet.Builder of(Object client) {
    return CallerIssuer.claims("user-7").claim("org", Map.of("id", client));
  }

  @Test
  void tokenThatTheIssuerHasNotSigned_isRefused() throws Exception {
    ECKey sameName = CallerIssuer.key(issuer.key().getKeyID());
    assertRefused(CallerIssuer.sign(sameName, claims("acme")), "was not signed by its issuer");
    assertRefused(
        CallerIssuer.sign(CallerIssuer.key("mine"), claims("acme")),
        "is signed with a key that its issuer does not publish");
    assertRefused(new PlainJWT(claims("acme").build()).serialize(), "is not a signed JWT");
    // the public key as a shared secret
    SignedJWT confused =
        new SignedJWT(
            new JWSHeader.Builder(JWSAlgorithm.HS256).keyID(issuer.key().getKeyID()).build(),
            claims("acme").build());
    confused.sign(
        new MACSigner(issuer.key().toPublicJWK().toJSONString().getBytes(StandardCharsets.UTF_8)));
    assertRefused(confused.serialize(), "is signed with an algorithm that is not accepted");
    for (String none :
        List.of("x", "a.b.c", "..", "eyJhbGciOiJFUzI1NiJ9..", "\u00e9.\u00e9.\u00e9")) {
      assertRefused(none, "is not a signed JWT");
    }
  }

  /**
   * The library accepts many forms of one token, which could displace all other tokens from the
   * cache.
   */
  @Test
  void tokenThatIsWrittenInAnotherWay_isRefused() throws Exception {
    String token = issuer.sign(claims("acme"));
    for (String other : List.of(token + "=", token + "*", " " + token, "\u0001" + token)) {
      assertRefused(other, "is not a signed JWT");
    }
    verify(token);

    assertEquals(1, tokens.remembered());
  }

  @Test
  void keyThatIsTakenBack_endsItsTokens(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("jwks.json"), issuer.keys());
    try (CallerTokens ofFile = open(Map.of("WEIR_AUTHZ_JWT_JWKS", file.toString()))) {
      String token = issuer.sign(claims("acme"));
      assertInstanceOf(Known.class, ofFile.verify(token).get(1, TimeUnit.MINUTES));
      ECKey next = CallerIssuer.key("next");
      issuer.publish(issuer.key(), next);
      Files.writeString(file, issuer.keys());
      String ofNext = CallerIssuer.sign(next, claims("acme"));
      Await.until(
          "the new key", () -> ofFile.verify(ofNext).get(1, TimeUnit.MINUTES) instanceof Known);
      assertTrue(ofFile.known(token).isPresent());

      issuer.publish(next);
      Files.writeString(file, issuer.keys());

      Await.until("the token to be forgotten", () -> ofFile.known(token).isEmpty());
      assertEquals(
          new Refused("is signed with a key that its issuer does not publish"),
          ofFile.verify(token).get(1, TimeUnit.MINUTES));
      assertInstanceOf(Known.class, ofFile.verify(ofNext).get(1, TimeUnit.MINUTES));
    }
  }

  @Test
  void fileWithoutKeys_isRefusedAtTheStart(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("jwks.json"), "no keys");

    String message =
        String.valueOf(
            assertThrows(
                    Settings.InvalidSettingException.class,
                    () -> open(Map.of("WEIR_AUTHZ_JWT_JWKS", file.toString())))
                .getMessage());

    assertTrue(message.startsWith("WEIR_AUTHZ_JWT_JWKS: it is not a JWK set"), message);
  }

  @Test
  void unavailableIssuer_itsKnownKeysStayValid_fewRequests() throws Exception {
    assertEquals("acme", clientOf(issuer.sign(claims("acme"))));
    issuer.answerWith(503);
    String unknown = CallerIssuer.sign(CallerIssuer.key("next"), claims("acme"));
    Await.until("a fetch in vain", () -> verify(unknown) == Undecided.KEYS_UNAVAILABLE);
    int fetches = issuer.fetches();

    long begun = System.nanoTime();
    for (int i = 0; i < 300; i++) {
      assertEquals(Optional.empty(), tokens.known(unknown));
      assertEquals(Undecided.KEYS_UNAVAILABLE, verify(unknown));
      assertEquals("acme", clientOf(issuer.sign(claims("acme").jwtID("id-" + i))));
    }
    long most = 1 + Duration.ofNanos(System.nanoTime() - begun).toSeconds() / 10;

    int more = issuer.fetches() - fetches;
    assertTrue(more <= most, () -> more + " fetches, at most " + most);
  }

  /** Only calls with an unknown key wait for a slow issuer. */
  @Test
  void issuerThatIsSlow_holdsFewTokens_andNoneOfAKnownKey() throws Exception {
    assertEquals("acme", clientOf(issuer.sign(claims("acme"))));
    String unknown = CallerIssuer.sign(CallerIssuer.key("next"), claims("acme"));

    // a round proves nothing if the fetch has ended before all tokens were presented
    Await.until(
        "a round in which tokens wait for keys",
        () -> turnedAway(number -> another(unknown, number)) > 0);
  }

  /**
   * Regression: all calls with one such token counted as one waiting call, so they could block all
   * calls.
   */
  @Test
  void callsWithOneTokenOfAnUnknownKey_areHeldNoMoreThanThoseWithMany() throws Exception {
    assertEquals("acme", clientOf(issuer.sign(claims("acme"))));
    String unknown = CallerIssuer.sign(CallerIssuer.key("next"), claims("acme"));

    Await.until("a round in which calls wait for keys", () -> turnedAway(number -> unknown) > 0);

    issuer.release();
    assertRefused(unknown, "is signed with a key that its issuer does not publish");
  }

  /**
   * Presents tokens with an unknown key while the issuer's keys are being fetched.
   *
   * @param token function that returns the token of a call by the number of the call
   * @return number of calls that were rejected; 0 if the round proves nothing
   */
  private int turnedAway(IntFunction<String> token) throws Exception {
    AtomicInteger made = new AtomicInteger();
    AtomicLong askedNanos = new AtomicLong();
    int fetches = issuer.fetches();
    issuer.hold();
    Await.until(
        "the issuer to be asked",
        () -> {
          askedNanos.set(System.nanoTime());
          var unused = tokens.verify(token.apply(made.getAndIncrement()));
          return issuer.fetches() > fetches;
        });
    List<CompletableFuture<Verdict>> answers = new ArrayList<>();
    for (int i = 0; i < CALLS_OF_A_ROUND; i++) {
      answers.add(tokens.verify(token.apply(made.getAndIncrement())));
    }
    // after all these calls, and before all waiting calls
    assertEquals("acme", clientOf(issuer.sign(claims("acme").jwtID("id-" + fetches))));
    boolean isGivenUp = System.nanoTime() - askedNanos.get() > SHORTEST_HOLD.toNanos();
    issuer.release();
    int turnedAway = 0;
    for (CompletableFuture<Verdict> answer : answers) {
      turnedAway += answer.get(1, TimeUnit.MINUTES) == Undecided.BUSY ? 1 : 0;
    }
    if (isGivenUp) {
      return 0;
    }
    int waited = answers.size() - turnedAway;
    int most = CallerTokens.MAX_WAITING_FOR_KEYS;
    assertTrue(waited <= most, () -> waited + " have waited, more than " + most);
    return turnedAway;
  }

  /** Returns a forged token with another invalid signature. */
  private static String another(String forged, int number) {
    int dot = forged.lastIndexOf('.');
    byte[] signature = new Base64URL(forged.substring(dot + 1)).decode();
    ByteBuffer.wrap(signature).putInt(number);
    return forged.substring(0, dot + 1) + Base64URL.encode(signature);
  }

  /**
   * Many forged tokens use only the verifying threads, and displace no valid tokens from the cache.
   */
  @Test
  void forgedTokens_delayNoTokenThatIsKnown_andAreForgotten() throws Exception {
    String good = issuer.sign(claims("acme"));
    assertEquals("acme", clientOf(good));
    String forged = CallerIssuer.sign(CallerIssuer.key(issuer.key().getKeyID()), claims("acme"));
    List<CompletableFuture<Verdict>> answers = new ArrayList<>();
    int turnedAway = 0;
    while (turnedAway == 0) {
      CompletableFuture<Verdict> answer = tokens.verify(another(forged, answers.size()));
      answers.add(answer);
      assertTrue(tokens.waiting() <= CallerTokens.MAX_WAITING);
      assertTrue(tokens.known(good).isPresent());
      turnedAway += answer.isDone() && answer.get() == Undecided.BUSY ? 1 : 0;
    }

    for (CompletableFuture<Verdict> answer : answers) {
      Verdict verdict = answer.get(1, TimeUnit.MINUTES);
      assertTrue(verdict instanceof Refused || verdict == Undecided.BUSY, verdict::toString);
    }
    assertEquals(1, tokens.remembered());
    assertEquals("b", clientOf(issuer.sign(claims("b"))));
  }

  /** Regression: later calls with the token waited forever. */
  @Test
  void noThreadCanBeMade_theTokenIsVerifiedLater(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("jwks.json"), issuer.keys());
    String token = issuer.sign(claims("acme"));
    AtomicInteger asked = new AtomicInteger();
    ThreadFactory making =
        task -> {
          if (asked.getAndIncrement() == 0) {
            throw new InternalError("no thread can be made");
          }
          return new Thread(task);
        };
    try (CallerTokens scarce =
        CallerTokens.open(
            settings(Map.of("WEIR_AUTHZ_JWT_JWKS", file.toString())), 1, clock, making)) {
      CompletableFuture<Verdict> first = scarce.verify(token);
      ExecutionException fault =
          assertThrows(ExecutionException.class, () -> first.get(1, TimeUnit.MINUTES));
      assertInstanceOf(InternalError.class, fault.getCause());

      assertInstanceOf(Known.class, scarce.verify(token).get(1, TimeUnit.MINUTES));
    }
  }

  /** Regression: calls that waited for a thread were never completed. */
  @Test
  void closed_whileTokensWait_tellsAll() throws Exception {
    String forged = CallerIssuer.sign(CallerIssuer.key(issuer.key().getKeyID()), claims("acme"));
    List<CompletableFuture<Verdict>> answers = new ArrayList<>();
    for (int i = 0; i < CALLS_OF_A_ROUND; i++) {
      answers.add(tokens.verify(another(forged, i)));
    }

    tokens.close();

    for (CompletableFuture<Verdict> answer : answers) {
      Verdict verdict = answer.get(1, TimeUnit.MINUTES);
      assertTrue(verdict instanceof Refused || verdict == Undecided.BUSY, verdict::toString);
    }
    assertEquals(Undecided.BUSY, verify(forged));
  }
}
