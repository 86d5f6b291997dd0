// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSObject;
import com.nimbusds.jose.Payload;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.util.JSONObjectUtils;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpServer;
import io.weir.testing.Await;
import io.weir.topics.settings.Settings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JwtTokensTest {
  private static final String ISSUER = "https://issuer.example";
  private static final String AUDIENCE = "weir";

  @TempDir private Path folder;
  private ECKey key;
  private Path keys;
  private Access access;

  @BeforeEach
  void open() throws Exception {
    key = key("1");
    keys = folder.resolve("jwks.json");
    publish(key);
    access = access(keys.toString());
  }

  @AfterEach
  void close() {
    access.close();
  }

  private static ECKey key(String id) throws Exception {
    return new ECKeyGenerator(Curve.P_256).keyID(id).generate();
  }

  private void publish(ECKey... all) throws Exception {
    Files.writeString(keys, new JWKSet(List.of(all)).toString(true));
  }

  private static Access access(String keys) {
    return Access.open(
        AccessSettings.of(
            Settings.of(
                Map.of(
                    "WEIR_JWKS", keys, "WEIR_JWT_ISSUER", ISSUER, "WEIR_JWT_AUDIENCE", AUDIENCE))));
  }

  private static JWTClaimsSet.Builder claims() {
    return new JWTClaimsSet.Builder()
        .issuer(ISSUER)
        .audience(AUDIENCE)
        .subject("gateway")
        .expirationTime(Date.from(Instant.now().plusSeconds(600)))
        .claim("scope", "openid weir:check weir:report");
  }

  private static String signed(ECKey by, String type, JWTClaimsSet claims) throws Exception {
    SignedJWT token =
        new SignedJWT(
            new JWSHeader.Builder(JWSAlgorithm.ES256)
                .keyID(by.getKeyID())
                .type(new JOSEObjectType(type))
                .build(),
            claims);
    token.sign(new ECDSASigner(by));
    return token.serialize();
  }

  private String signed(JWTClaimsSet.Builder claims) throws Exception {
    return signed(key, "at+jwt", claims.build());
  }

  /** Signs claims with a claim that the library's builder would not write in this form. */
  private String signedWith(String claim, @Nullable Object value) throws Exception {
    Map<String, Object> written = new HashMap<>(claims().build().toJSONObject());
    written.put(claim, value);
    JWSObject token =
        new JWSObject(
            new JWSHeader.Builder(JWSAlgorithm.ES256).keyID(key.getKeyID()).build(),
            new Payload(JSONObjectUtils.toJSONString(written)));
    token.sign(new ECDSASigner(key));
    return token.serialize();
  }

  /** Regression: a token with a null claim could read the usage of every client. */
  @Test
  void tokenWithNullClients_isRefused() throws Exception {
    assertRefused(signedWith("weir_clients", null), "weir_clients must be a list of names");
    assertRefused(
        signedWith("weir_clients", Arrays.asList("acme", null)), "must be a string or a list");
    assertRefused(
        signedWith("weir_clients", List.of(List.of("acme"))), "must be a string or a list");
    assertRefused(signedWith("weir_clients", false), "must be a string or a list");
  }

  /** Regression: the number 7 was accepted as the subject, and therefore as a client named "7". */
  @Test
  void tokenWithSubjectThatIsNoText_isRefused() throws Exception {
    for (Object subject : List.of(7, 1.5, true, List.of("acme"), Map.of("a", "b"))) {
      assertInstanceOf(
          Access.Refused.class,
          access.of("Bearer " + signedWith("sub", subject)),
          subject::toString);
    }
    assertRefused(signedWith("sub", 7), "sub must be a string");
    assertEquals("gateway", granted(signedWith("jti", "7")).name());
  }

  private Grant granted(String token) {
    return assertInstanceOf(Access.Granted.class, access.of("Bearer " + token)).grant();
  }

  private void assertRefused(String token, String part) {
    Access.Refused refused = assertInstanceOf(Access.Refused.class, access.of("Bearer " + token));
    assertTrue(refused.detail().contains(part), refused::toString);
  }

  @Test
  void tokenOfTheIssuer_hasTheScopesThatItNames() throws Exception {
    String token = signed(claims());
    assertEquals(Optional.empty(), access.known("Bearer " + token));

    assertEquals(new Grant("gateway", Set.of(Scope.CHECK, Scope.REPORT), Set.of()), granted(token));
    // verified once
    assertTrue(access.known("Bearer " + token).isPresent());
    assertEquals(
        Set.of(Scope.ADMIN),
        granted(signed(claims().claim("scope", null).claim("scp", List.of("weir:admin"))))
            .scopes());
  }

  /** Regression: such tokens caused a response 500 and a stack trace in the log. */
  @Test
  void tokenOnWhichTheLibraryFails_isRefused() {
    assertInstanceOf(Access.Refused.class, access.of("Bearer bnVsbA.e30.AA")); // a null header
  }

  @Test
  void tokenForClients_readsTheirUsageAlone() throws Exception {
    Grant bound = granted(signed(claims().claim("weir_clients", List.of("acme", "b"))));
    assertEquals(new Grant("gateway", Set.of(Scope.REPORT), Set.of("acme", "b")), bound);
    assertEquals(Set.of("acme"), granted(signed(claims().claim("weir_clients", "acme"))).clients());
    // an invalid restriction must not allow all clients
    assertRefused(signed(claims().claim("weir_clients", List.of())), "has no client");
    assertRefused(signed(claims().claim("weir_clients", 5)), "must be a string or a list");
    assertRefused(
        signed(claims().claim("weir_clients", Map.of("a", 1))), "must be a string or a list");
    assertRefused(
        signed(claims().claim("scope", "weir:check").claim("weir_clients", "acme")),
        "but has none of them");
  }

  @Test
  void tokenThatIsNotForWeir_isRefused() throws Exception {
    assertRefused(signed(claims().issuer("https://other.example")), "iss");
    assertRefused(signed(claims().audience("other")), "aud");
    assertRefused(signed(claims().subject(null)), "sub");
    assertRefused(signed(claims().expirationTime(null)), "exp");
    assertRefused(signed(claims().claim("scope", "openid")), "but has none of them");
    assertRefused(
        signed(claims().expirationTime(Date.from(Instant.now().minusSeconds(120)))), "Expired");
    assertRefused(
        signed(claims().notBeforeTime(Date.from(Instant.now().plusSeconds(300)))), "before");
    assertRefused(signed(key, "id+token", claims().build()), "typ");
  }

  @Test
  void tokenThatTheIssuerHasNotSigned_isRefused() throws Exception {
    assertRefused(signed(key("1"), "JWT", claims().build()), "signature");
    assertRefused(signed(key("2"), "JWT", claims().build()), "key");
    assertRefused(new PlainJWT(claims().build()).serialize(), "unknown");
    // the public key as a shared secret
    SignedJWT confused = new SignedJWT(new JWSHeader(JWSAlgorithm.HS256), claims().build());
    confused.sign(new MACSigner(key.toPublicJWK().toJSONString().getBytes(StandardCharsets.UTF_8)));
    assertRefused(confused.serialize(), "unknown");
    String token = signed(claims());
    int middle = token.indexOf('.') + 5;
    assertRefused(token.substring(0, middle) + "A" + token.substring(middle + 1), "");
  }

  @Test
  void keysThatChange_areTakenWithoutARestart() throws Exception {
    ECKey next = key("2");
    String token = signed(next, "JWT", claims().build());
    assertRefused(token, "key");
    publish(key, next);
    Await.until("the new key", () -> access.of("Bearer " + token) instanceof Access.Granted);
  }

  /** Keys are fetched once, not for each token. */
  @Test
  void keysOfAUrl_areFetchedAndKept() throws Exception {
    AtomicInteger fetched = new AtomicInteger();
    HttpServer issuer =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    issuer.createContext(
        "/keys",
        exchange -> {
          fetched.incrementAndGet();
          byte[] body = Files.readAllBytes(keys);
          exchange.getResponseHeaders().add("Content-Type", "application/jwk-set+json");
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    issuer.start();
    String url = "http://127.0.0.1:" + issuer.getAddress().getPort() + "/keys";
    try (Access byUrl = access(url)) {
      for (int i = 0; i < 20; i++) {
        String token = signed(claims().jwtID(Integer.toString(i)));
        assertInstanceOf(Access.Granted.class, byUrl.of("Bearer " + token));
      }
      assertEquals(1, fetched.get());
      issuer.stop(0);
      assertInstanceOf(Access.Granted.class, byUrl.of("Bearer " + signed(claims().jwtID("x"))));
    }
  }

  /** Regression: an issuer that sends byte by byte blocked a request for an unlimited time. */
  @Test
  void issuerThatAnswersByteByByte_holdsNoRequest() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    AtomicBoolean isGivenUp = new AtomicBoolean();
    HttpServer issuer =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    ExecutorService threads = Executors.newCachedThreadPool();
    issuer.setExecutor(threads);
    issuer.createContext(
        "/keys",
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          try {
            while (!over.await(200, TimeUnit.MILLISECONDS)) {
              exchange.getResponseBody().write(' ');
              exchange.getResponseBody().flush();
            }
          } catch (IOException | InterruptedException ended) {
            isGivenUp.set(true);
          }
        });
    issuer.start();
    String url = "http://127.0.0.1:" + issuer.getAddress().getPort() + "/keys";
    try (Access byUrl = access(url)) {
      // the issuer would send bytes forever
      assertInstanceOf(Access.Refused.class, byUrl.of("Bearer " + signed(claims())));
      assertInstanceOf(Access.Refused.class, byUrl.of("Bearer " + signed(claims().jwtID("2"))));
      Await.until("the answer is given up", isGivenUp::get);
    } finally {
      over.countDown();
      issuer.stop(0);
      threads.shutdownNow();
    }
  }
}
