// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static io.weir.ingest.http.CallersNode.CHALLENGE;
import static io.weir.ingest.http.CallersNode.claims;
import static io.weir.ingest.http.CallersNode.field;
import static io.weir.ingest.http.CallersNode.told;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import io.weir.servers.testing.CallerIssuer;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
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

/** Callers that a node identifies by the tokens of a separate issuer. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class AuthzCallerTokensIT {
  private CallersNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    node = CallersNode.start(folder, Map.of("WEIR_AUTHZ_JWT_ATTRIBUTES", "plan=/org/plan"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  private HttpResponse<String> askWith(AuthzDialect dialect, String token) throws Exception {
    return node.askUntilKnown(dialect, "Authorization", "Bearer " + token);
  }

  @ParameterizedTest
  @EnumSource(AuthzDialect.class)
  void claim_isTheClientThatIsLimited_whicheverTokenHasIt(AuthzDialect dialect) throws Exception {
    String client = "client-of-" + dialect;
    for (int i = 0; i < 2; i++) {
      HttpResponse<String> allowed =
          askWith(dialect, node.issuer.sign(claims(client).jwtID("id-" + i)));
      assertEquals(200, allowed.statusCode(), () -> told(allowed));
    }

    String token = node.issuer.sign(claims(client));
    for (int i = 0; i < 2; i++) {
      HttpResponse<String> denied = askWith(dialect, token);
      int expected = dialect == AuthzDialect.NGINX ? 403 : 429;
      assertEquals(expected, denied.statusCode(), () -> told(denied));
      assertEquals("not-enough-tokens", field(denied, "X-RateLimit-Reason"));
    }
    HttpResponse<String> other = askWith(dialect, node.issuer.sign(claims("other-" + client)));
    assertEquals(200, other.statusCode(), () -> told(other));
  }

  @ParameterizedTest
  @EnumSource(AuthzDialect.class)
  void refusedToken_is401_andNamesTheRule(AuthzDialect dialect) throws Exception {
    Map<String, String> rules = new LinkedHashMap<>();
    rules.put(
        CallerIssuer.sign(CallerIssuer.key(node.issuer.key().getKeyID()), claims("acme")),
        "was not signed by its issuer");
    rules.put(
        CallerIssuer.sign(CallerIssuer.key("mine"), claims("acme")),
        "is signed with a key that its issuer does not publish");
    rules.put(new PlainJWT(claims("acme").build()).serialize(), "is not a signed JWT");
    rules.put(withASharedSecret(), "is signed with an algorithm that is not accepted");
    rules.put(
        node.issuer.sign(claims("acme").expirationTime(Date.from(Instant.now().minusSeconds(1)))),
        "has expired");
    rules.put(node.issuer.sign(claims("acme").audience("other")), "has another audience (aud)");
    rules.put(node.issuer.sign(claims("acme").issuer("other")), "has another issuer (iss)");
    rules.put(node.issuer.token("user-7"), "has no claim /org/id");
    rules.put(
        node.issuer.sign(claims("acme").claim("org", Map.of("id", 7))),
        "has a claim /org/id that is not a string");
    rules.put(node.issuer.sign(claims("")), "has a claim /org/id, which must not be empty");
    rules.put(
        node.issuer.sign(claims("x".repeat(300))),
        "has a claim /org/id, which must have at most 256 bytes of UTF-8, but has 300");
    rules.put("x".repeat(6_145), "has more than 6144 characters");

    for (Map.Entry<String, String> each : rules.entrySet()) {
      String token = each.getKey();
      HttpResponse<String> refused = askWith(dialect, token);

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
            new JWSHeader.Builder(JWSAlgorithm.HS256).keyID(node.issuer.key().getKeyID()).build(),
            claims("acme").build());
    confused.sign(
        new MACSigner(
            node.issuer.key().toPublicJWK().toJSONString().getBytes(StandardCharsets.UTF_8)));
    return confused.serialize();
  }

  @ParameterizedTest
  @EnumSource(AuthzDialect.class)
  void callWithoutAToken_isChallengedToOne(AuthzDialect dialect) throws Exception {
    for (String authorization : List.of("", "Basic c2VjcmV0", "Bearer")) {
      HttpResponse<String> refused =
          authorization.isEmpty()
              ? node.ask(dialect)
              : node.ask(dialect, "Authorization", authorization);

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
          askWith(
              AuthzDialect.PLAIN,
              node.issuer.sign(
                  claims("planned").claim("org", Map.of("id", "planned", "plan", plan))));

      assertEquals(plan.equals("free") ? 429 : 200, answer.statusCode(), () -> told(answer));
      assertEquals(plan.equals("free") ? "blocked" : "", field(answer, "X-RateLimit-Reason"));
    }
  }

  @Test
  void forgedTokens_holdUpNoCallerThatIsKnown() throws Exception {
    String good = node.issuer.sign(CallerIssuer.claims("u").claim("org", Map.of("id", "steady")));
    askWith(AuthzDialect.ENVOY, good);
    String forged =
        CallerIssuer.sign(CallerIssuer.key(node.issuer.key().getKeyID()), claims("steady"));
    double before = node.tokens("refused") + node.tokens("busy");
    List<CompletableFuture<HttpResponse<String>>> flood = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      flood.add(node.askAsync(AuthzDialect.ENVOY, "Authorization", "Bearer " + forged));
      if (i % 20 == 0) {
        int status = askWith(AuthzDialect.ENVOY, good).statusCode();
        assertTrue(Set.of(200, 429).contains(status), () -> "steady: " + status);
      }
    }

    for (CompletableFuture<HttpResponse<String>> each : flood) {
      HttpResponse<String> answer = each.get();
      assertTrue(Set.of(401, 503).contains(answer.statusCode()), () -> told(answer));
    }
    assertEquals(600, node.tokens("refused") + node.tokens("busy") - before);
  }
}
