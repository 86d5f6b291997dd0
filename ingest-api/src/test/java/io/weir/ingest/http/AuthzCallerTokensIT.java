// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import io.weir.servers.testing.CallerIssuer;
import io.weir.testing.Await;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Callers that a node knows by the tokens of an issuer of their own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class AuthzCallerTokensIT {
  private static final String POLICIES =
      """
      policies:
        - name: twice
          match: {endpoint: ["GET /v1/items/{id}"]}
          limit: {algorithm: token-bucket, capacity: 2, refill_tokens: 1, refill_period: PT1H}
        - name: not-for-free
          match: {attributes: {plan: [free]}}
          limit: {algorithm: deny}
      """;

  private static final String CHALLENGE = "Bearer realm=\"weir\"";

  private CallerIssuer issuer;
  private TestNode node;

  /** Its issuer changes its keys, and is away; calls without a token are known by a field. */
  private CallerIssuer otherIssuer;

  private TestNode otherNode;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    issuer = CallerIssuer.start();
    node =
        node(folder.resolve("one"), issuer, Map.of("WEIR_AUTHZ_JWT_ATTRIBUTES", "plan=/org/plan"));
    otherIssuer = CallerIssuer.start();
    otherNode =
        node(
            folder.resolve("other"),
            otherIssuer,
            Map.of(
                "WEIR_AUTHZ_JWT_HEADER", "X-Caller",
                "WEIR_AUTHZ_JWT_MISSING", "next",
                "WEIR_AUTHZ_CLIENT_HEADER", "X-Client"));
  }

  private static TestNode node(Path folder, CallerIssuer issuer, Map<String, String> more)
      throws Exception {
    Files.createDirectories(folder);
    Map<String, String> settings = new HashMap<>(issuer.settings("/org/id"));
    settings.put(
        "WEIR_POLICIES", Files.writeString(folder.resolve("own.yml"), POLICIES).toString());
    settings.put(
        "WEIR_AUTHZ_ROUTES",
        Files.writeString(folder.resolve("routes"), "GET /v1/items/{id}\n").toString());
    settings.putAll(more);
    return TestNode.start(folder, settings);
  }

  @AfterAll
  void stop() {
    for (AutoCloseable each : new AutoCloseable[] {node, otherNode, issuer, otherIssuer}) {
      try {
        if (each != null) {
          each.close();
        }
      } catch (Exception failed) {
        throw new IllegalStateException(failed);
      }
    }
  }

  private static HttpRequest request(TestNode of, AuthzDialect dialect, String... fields) {
    String path = "/v1/authz/" + dialect.name().toLowerCase(Locale.ROOT);
    String target = "/v1/items/7";
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
            URI.create(
                "http://127.0.0.1:"
                    + of.port()
                    + path
                    + (dialect == AuthzDialect.ENVOY ? target : "")));
    switch (dialect) {
      case PLAIN -> request.headers("X-Weir-Method", "GET", "X-Weir-Path", target);
      case NGINX -> request.headers("X-Original-Method", "GET", "X-Original-URI", target);
      case TRAEFIK -> request.headers("X-Forwarded-Method", "GET", "X-Forwarded-Uri", target);
      case ENVOY -> {}
    }
    if (fields.length > 0) {
      request.headers(fields);
    }
    return request.build();
  }

  private HttpResponse<String> ask(AuthzDialect dialect, String token) throws Exception {
    return node.send(request(node, dialect, "Authorization", "Bearer " + token));
  }

  private HttpResponse<String> askOther(String... fields) throws Exception {
    return otherNode.send(request(otherNode, AuthzDialect.PLAIN, fields));
  }

  private static JWTClaimsSet.Builder claims(String client) {
    return CallerIssuer.claims("user-7").claim("org", Map.of("id", client));
  }

  private static String field(HttpResponse<String> answer, String name) {
    return String.join(" and ", answer.headers().allValues(name));
  }

  private static String told(HttpResponse<String> answer) {
    return answer + " " + answer.headers().map() + " " + answer.body();
  }

  @ParameterizedTest
  @EnumSource(AuthzDialect.class)
  void claim_isTheClientThatIsLimited_whicheverTokenHasIt(AuthzDialect dialect) throws Exception {
    String client = "client-of-" + dialect;
    for (int i = 0; i < 2; i++) {
      HttpResponse<String> allowed = ask(dialect, issuer.sign(claims(client).jwtID("id-" + i)));
      assertEquals(200, allowed.statusCode(), () -> told(allowed));
    }

    String token = issuer.sign(claims(client));
    for (int i = 0; i < 2; i++) {
      HttpResponse<String> denied = ask(dialect, token);
      int expected = dialect == AuthzDialect.NGINX ? 403 : 429;
      assertEquals(expected, denied.statusCode(), () -> told(denied));
      assertEquals("not-enough-tokens", field(denied, "X-RateLimit-Reason"));
    }
    HttpResponse<String> other = ask(dialect, issuer.sign(claims("other-" + client)));
    assertEquals(200, other.statusCode(), () -> told(other));
  }

  @ParameterizedTest
  @EnumSource(AuthzDialect.class)
  void tokenThatIsNotAccepted_is401_andItsRuleIsTold(AuthzDialect dialect) throws Exception {
    Map<String, String> rules = new LinkedHashMap<>();
    rules.put(
        CallerIssuer.sign(CallerIssuer.key(issuer.key().getKeyID()), claims("acme")),
        "has not been signed by its issuer");
    rules.put(
        CallerIssuer.sign(CallerIssuer.key("mine"), claims("acme")),
        "is signed by a key that its issuer does not publish");
    rules.put(new PlainJWT(claims("acme").build()).serialize(), "is no signed JWT");
    rules.put(withASharedSecret(), "is signed by an algorithm that is not accepted");
    rules.put(
        issuer.sign(claims("acme").expirationTime(Date.from(Instant.now().minusSeconds(1)))),
        "has expired");
    rules.put(issuer.sign(claims("acme").audience("other")), "is for another audience (aud)");
    rules.put(issuer.sign(claims("acme").issuer("other")), "is of another issuer (iss)");
    rules.put(issuer.token("user-7"), "has no claim /org/id");
    rules.put(
        issuer.sign(claims("acme").claim("org", Map.of("id", 7))),
        "has a claim /org/id that is no text");
    rules.put(issuer.sign(claims("")), "has a claim /org/id, which must not be empty");
    rules.put(
        issuer.sign(claims("x".repeat(300))),
        "has a claim /org/id, which must have at most 256 bytes of UTF-8, has 300");
    rules.put("x".repeat(6_145), "has more than 6144 characters");

    for (Map.Entry<String, String> each : rules.entrySet()) {
      String token = each.getKey();
      HttpResponse<String> refused = ask(dialect, token);

      assertEquals(401, refused.statusCode(), () -> told(refused));
      assertEquals(
          CHALLENGE
              + ", error=\"invalid_token\", error_description=\"the token "
              + each.getValue()
              + '"',
          field(refused, "WWW-Authenticate"));
      assertEquals("caller-unknown", field(refused, "X-RateLimit-Reason"));
      assertEquals(dialect == AuthzDialect.NGINX, refused.body().isEmpty(), refused.body());
      assertFalse(told(refused).contains(token), () -> told(refused));
    }
  }

  private String withASharedSecret() throws Exception {
    SignedJWT confused =
        new SignedJWT(
            new JWSHeader.Builder(JWSAlgorithm.HS256).keyID(issuer.key().getKeyID()).build(),
            claims("acme").build());
    confused.sign(
        new MACSigner(issuer.key().toPublicJWK().toJSONString().getBytes(StandardCharsets.UTF_8)));
    return confused.serialize();
  }

  @ParameterizedTest
  @EnumSource(AuthzDialect.class)
  void callWithoutAToken_isChallengedToOne(AuthzDialect dialect) throws Exception {
    for (String authorization : List.of("", "Basic c2VjcmV0", "Bearer")) {
      HttpResponse<String> refused =
          node.send(
              authorization.isEmpty()
                  ? request(node, dialect)
                  : request(node, dialect, "Authorization", authorization));

      assertEquals(401, refused.statusCode(), () -> told(refused));
      assertEquals(CHALLENGE, field(refused, "WWW-Authenticate"));
      assertEquals("caller-unknown", field(refused, "X-RateLimit-Reason"));
      assertFalse(told(refused).contains("c2VjcmV0"), () -> told(refused));
    }
  }

  @Test
  void claimThatIsNamed_isAnAttributeOfTheCall() throws Exception {
    for (String plan : List.of("free", "paid")) {
      HttpResponse<String> answer =
          ask(
              AuthzDialect.PLAIN,
              issuer.sign(claims("planned").claim("org", Map.of("id", "planned", "plan", plan))));

      assertEquals(plan.equals("free") ? 429 : 200, answer.statusCode(), () -> told(answer));
      assertEquals(plan.equals("free") ? "blocked" : "", field(answer, "X-RateLimit-Reason"));
    }
  }

  /** A caller must not be able to choose by which of two it is known. */
  @Test
  void tokenTakesPrecedence_andABadOneIsNotAsIfThereWereNone() throws Exception {
    String token = otherIssuer.sign(claims("by-token"));
    for (int i = 0; i < 2; i++) {
      assertEquals(200, askOther("X-Caller", token, "X-Client", "by-field-" + i).statusCode());
    }
    HttpResponse<String> denied = askOther("X-Caller", token, "X-Client", "by-field");
    assertEquals(429, denied.statusCode(), () -> told(denied));
    assertTrue(denied.body().contains("\"client\":\"by-token\""), denied.body());

    HttpResponse<String> bad = askOther("X-Caller", token + "x", "X-Client", "by-field");
    assertEquals(401, bad.statusCode(), () -> told(bad));
    HttpResponse<String> two =
        askOther("X-Caller", token, "X-Caller", token, "X-Client", "by-field");
    assertEquals(401, two.statusCode(), () -> told(two));
    for (int i = 0; i < 2; i++) {
      HttpResponse<String> byField = askOther("X-Client", "by-field");
      assertEquals(200, byField.statusCode(), () -> told(byField));
    }
    assertEquals(429, askOther("X-Client", "by-field").statusCode());
    HttpResponse<String> neither = askOther();
    assertEquals(401, neither.statusCode(), () -> told(neither));
    assertEquals(CHALLENGE + ", ApiKey", field(neither, "WWW-Authenticate"));
  }

  @Test
  void issuerThatChangesItsKeys_andIsAway_isFollowed() throws Exception {
    ECKey before = otherIssuer.key();
    ECKey next = CallerIssuer.key("next");
    String old = otherIssuer.sign(claims("rotates"));
    assertEquals(200, askOther("X-Caller", old).statusCode());

    otherIssuer.publish(next, before);
    String ofNext = CallerIssuer.sign(next, claims("rotates"));
    Await.until(
        "the new key to be fetched", () -> askOther("X-Caller", ofNext).statusCode() != 401);
    assertEquals(429, askOther("X-Caller", old).statusCode());

    otherIssuer.publish(next);
    String unknown = CallerIssuer.sign(CallerIssuer.key("unknown"), claims("unknown"));
    Await.until(
        "the old key to be taken back",
        () ->
            askOther("X-Caller", unknown).statusCode() == 401
                && askOther("X-Caller", old).statusCode() == 401);

    otherIssuer.answerWith(500);
    Await.until("the issuer to be missed", () -> askOther("X-Caller", unknown).statusCode() == 503);
    HttpResponse<String> away = askOther("X-Caller", unknown);
    assertEquals("caller-keys-unavailable", field(away, "X-RateLimit-Reason"));
    assertTrue(Long.parseLong(field(away, "Retry-After")) > 0, () -> told(away));
    HttpResponse<String> known =
        askOther("X-Caller", otherIssuer.sign(claims("away").jwtID("never seen")));
    assertEquals(200, known.statusCode(), () -> told(known));
    otherIssuer.answerWith(200);
  }

  @Test
  void forgedTokens_holdUpNoCallerThatIsKnown() throws Exception {
    String good = issuer.sign(CallerIssuer.claims("u").claim("org", Map.of("id", "steady")));
    ask(AuthzDialect.ENVOY, good);
    String forged = CallerIssuer.sign(CallerIssuer.key(issuer.key().getKeyID()), claims("steady"));
    double before = tokens("refused") + tokens("busy");
    List<CompletableFuture<HttpResponse<String>>> flood = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      flood.add(
          node.http()
              .sendAsync(
                  request(node, AuthzDialect.ENVOY, "Authorization", "Bearer " + forged),
                  HttpResponse.BodyHandlers.ofString()));
      if (i % 20 == 0) {
        int status = ask(AuthzDialect.ENVOY, good).statusCode();
        assertTrue(Set.of(200, 429).contains(status), () -> "steady: " + status);
      }
    }

    for (CompletableFuture<HttpResponse<String>> each : flood) {
      HttpResponse<String> answer = each.get();
      assertTrue(Set.of(401, 503).contains(answer.statusCode()), () -> told(answer));
    }
    assertEquals(600, tokens("refused") + tokens("busy") - before);
  }

  private double tokens(String result) throws Exception {
    return node.metric("weir_caller_tokens_total{result=\"" + result + "\"}");
  }
}
