// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.nimbusds.jwt.JWTClaimsSet;
import io.weir.servers.testing.CallerIssuer;
import io.weir.testing.Await;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A node that knows gateways' callers by the tokens of an issuer, and asks it in each dialect. A
 * client may call each item twice.
 */
final class CallersNode implements AutoCloseable {
  static final String CHALLENGE = "Bearer realm=\"weir\"";

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

  final CallerIssuer issuer;
  private final TestNode node;

  private CallersNode(CallerIssuer issuer, TestNode node) {
    this.issuer = issuer;
    this.node = node;
  }

  static CallersNode start(Path folder, Map<String, String> more) throws Exception {
    CallerIssuer issuer = CallerIssuer.start();
    Map<String, String> settings = new HashMap<>(issuer.settings("/org/id"));
    settings.put(
        "WEIR_POLICIES", Files.writeString(folder.resolve("own.yml"), POLICIES).toString());
    settings.put(
        "WEIR_AUTHZ_ROUTES",
        Files.writeString(folder.resolve("routes"), "GET /v1/items/{id}\n").toString());
    settings.putAll(more);
    CallersNode started;
    try {
      started = new CallersNode(issuer, TestNode.start(folder, settings));
    } catch (Exception failed) {
      issuer.close();
      throw failed;
    }
    try {
      started.awaitKeys();
      return started;
    } catch (Exception | Error failed) {
      started.close();
      throw failed;
    }
  }

  /**
   * On a busy machine the issuer's first answer may be too late, so that the node requests it
   * again.
   */
  private void awaitKeys() throws Exception {
    String expired =
        issuer.sign(claims("nobody").expirationTime(Date.from(Instant.now().minusSeconds(60))));
    Await.until(
        "the issuer's keys are known",
        () ->
            field(
                    ask(
                        AuthzDialect.PLAIN,
                        "Authorization",
                        "Bearer " + expired,
                        "X-Caller",
                        expired),
                    "WWW-Authenticate")
                .contains("the token has expired"));
  }

  /** Asks until it is known whether the issuer has the token's key. */
  HttpResponse<String> askUntilKnown(AuthzDialect dialect, String... fields) throws Exception {
    List<HttpResponse<String>> answers = new ArrayList<>();
    Await.until(
        "the issuer to give its keys",
        () -> {
          answers.clear();
          answers.add(ask(dialect, fields));
          return !field(answers.get(0), "X-RateLimit-Reason").equals("caller-keys-unavailable");
        });
    return answers.get(0);
  }

  /** Returns the claims of a valid token of a client. */
  static JWTClaimsSet.Builder claims(String client) {
    return CallerIssuer.claims("user-7").claim("org", Map.of("id", client));
  }

  /**
   * Asks with header fields of the caller; each answer is held against its description, but for
   * paths behind that of Envoy's route, which stand for the caller's.
   */
  HttpResponse<String> ask(AuthzDialect dialect, String... fields) throws Exception {
    return dialect == AuthzDialect.ENVOY
        ? node.http().send(request(dialect, fields), HttpResponse.BodyHandlers.ofString())
        : node.send(request(dialect, fields));
  }

  CompletableFuture<HttpResponse<String>> askAsync(AuthzDialect dialect, String... fields) {
    return node.http().sendAsync(request(dialect, fields), HttpResponse.BodyHandlers.ofString());
  }

  private HttpRequest request(AuthzDialect dialect, String... fields) {
    String target = "/v1/items/7";
    String path =
        "/v1/authz/"
            + dialect.name().toLowerCase(Locale.ROOT)
            + (dialect == AuthzDialect.ENVOY ? target : "");
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.port() + path));
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

  /** Returns how many tokens have come to a result. */
  double tokens(String result) throws Exception {
    return node.metric("weir_caller_tokens_total{result=\"" + result + "\"}");
  }

  static String field(HttpResponse<String> answer, String name) {
    return String.join(" and ", answer.headers().allValues(name));
  }

  static String told(HttpResponse<String> answer) {
    return answer + " " + answer.headers().map() + " " + answer.body();
  }

  @Override
  public void close() {
    node.close();
    issuer.close();
  }
}
