// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.access.BearerToken;
import io.weir.access.Grant;
import io.weir.access.Scope;
import io.weir.access.TokenFile;
import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.servers.testing.TestCertificates;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A node and two aggregators whose ports speak TLS and ask for tokens: each token does what it is
 * for, and a customer's sees that customer's usage and nothing else.
 */
final class SecuredPortsIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int FUZZED = 300;

  @TempDir private static Path folder;
  private static final Map<String, String> tokens = new HashMap<>();
  private static TestKafka kafka;
  private static TestRedis redis;
  private static Ingest node;
  private static Aggregator first;
  private static Aggregator second;
  private static HttpClient http;

  @BeforeAll
  static void start() throws Exception {
    kafka = TestKafka.borrow();
    redis = TestRedis.start();
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(4, Optional.empty());
    }
    TestCertificates certificates = TestCertificates.in(folder).issue("server");
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_STOP_DELAY", "PT0S");
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_REPORTS_HOST", "127.0.0.1");
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_TLS_CERTIFICATE", certificates.certificate("server").toString());
    environment.put("WEIR_TLS_KEY", certificates.key("server").toString());
    environment.put("WEIR_TLS_CA", certificates.authority().toString());
    environment.put("WEIR_TOKENS_FILE", tokensFile().toString());
    environment.put(
        "WEIR_PORTAL_KEY_FILE",
        Files.writeString(folder.resolve("secret"), "0123456789abcdef".repeat(2)).toString());
    environment.put(
        "WEIR_POLICIES",
        Files.writeString(
                folder.resolve("policies.yml"),
                """
                policies:
                  - name: few
                    limit: {algorithm: token-bucket, capacity: 5, refill_tokens: 1, refill_period: PT1H}
                """)
            .toString());
    http = HttpClient.newBuilder().sslContext(certificates.trusting()).build();
    first = Aggregator.start(AggregatorConfig.of(named(environment, "a1")));
    second = Aggregator.start(AggregatorConfig.of(named(environment, "a2")));
    node = Ingest.start(IngestConfig.of(named(environment, "n1")));
    Await.until("the aggregators", () -> first.ready() && second.ready());
  }

  private static Map<String, String> named(Map<String, String> environment, String name) {
    Map<String, String> own = new HashMap<>(environment);
    own.put("WEIR_NODE", name);
    own.put("WEIR_INSTANCE", name);
    own.put("WEIR_DATA", folder.resolve(name).toString());
    return own;
  }

  private static Path tokensFile() throws Exception {
    TokenFile file = TokenFile.empty();
    for (Grant grant :
        List.of(
            new Grant("gateway", Set.of(Scope.CHECK), Set.of()),
            new Grant("reader", Set.of(Scope.REPORT), Set.of()),
            new Grant("operator", Set.of(Scope.ADMIN), Set.of()),
            new Grant("acme", Set.of(Scope.REPORT), Set.of("acme")))) {
      String token = BearerToken.create();
      tokens.put(grant.name(), token);
      file = file.with(new TokenFile.Entry(ApiKeyHash.of(token), grant, null));
    }
    return Files.writeString(folder.resolve("tokens.yml"), file.text());
  }

  @AfterAll
  static void stop() {
    node.close();
    second.close();
    first.close();
    redis.close();
    kafka.close();
  }

  private static HttpResponse<String> ask(
      String method, int port, String path, String token, String body) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + path))
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .header("Content-Type", "application/json");
    if (!token.isEmpty()) {
      request.header("Authorization", "Bearer " + token);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private static HttpResponse<String> check(String name, String client) throws Exception {
    return ask(
        "POST", node.httpPort(), "/v1/check", token(name), "{\"client\":\"" + client + "\"}");
  }

  private static HttpResponse<String> report(String path, String token) throws Exception {
    return ask("GET", first.reportsPort(), path, token, "");
  }

  private static String token(String name) {
    return tokens.getOrDefault(name, "");
  }

  private static String usage(String client) {
    return "/v1/usage?client=" + client + "&from=2026-01-01&window=total";
  }

  private static long quantity(HttpResponse<String> answer) throws Exception {
    long sum = 0;
    for (JsonNode row : JSON.readTree(answer.body()).path("data")) {
      sum += row.path("quantity").asLong();
    }
    return sum;
  }

  @Test
  void eachToken_doesWhatItIsFor_atTheCheckApi() throws Exception {
    assertEquals(200, check("gateway", "scopes").statusCode());
    assertEquals(401, check("nobody", "scopes").statusCode());
    assertEquals(403, check("reader", "scopes").statusCode());
    assertEquals(403, check("operator", "scopes").statusCode());
    assertEquals(403, check("acme", "acme").statusCode());
    String settle = "/v1/calls/x/settle";
    assertEquals(401, ask("POST", node.httpPort(), settle, "", "{\"client\":\"a\"}").statusCode());
    assertEquals(403, ask("POST", node.httpPort(), settle, token("acme"), "{}").statusCode());

    int port = node.httpPort();
    assertEquals(200, ask("GET", port, "/v1/policies", token("operator"), "").statusCode());
    for (String other : List.of("gateway", "reader", "acme")) {
      for (String path : List.of("/v1/policies", "/v1/clients/acme", "/v1/switches", "/nowhere")) {
        assertEquals(403, ask("GET", port, path, token(other), "").statusCode(), other + path);
      }
      assertEquals(
          403,
          ask("PUT", port, "/v1/switches/enforcement", token(other), "{\"mode\":\"off\"}")
              .statusCode());
    }
    assertEquals(
        200,
        ask("PUT", port, "/v1/switches/enforcement", token("operator"), "{\"mode\":\"enforce\"}")
            .statusCode());
    assertEquals(200, ask("GET", port, "/metrics", token("reader"), "").statusCode());
    assertEquals(403, ask("GET", port, "/metrics", token("acme"), "").statusCode());
    assertEquals(401, ask("GET", port, "/metrics", "", "").statusCode());
    assertEquals(200, ask("GET", port, "/health/live", "", "").statusCode());
    assertEquals(200, ask("GET", port, "/problems/token-refused", "", "").statusCode());
  }

  /** Regression: the rule saw /health/x, the route a policy of that name. */
  @Test
  void pathsWithDotSegments_reachNoRouteOfAnother() throws Exception {
    String policy =
        "{\"match\":{\"client\":[\"*\"]},\"limit\":{\"algorithm\":\"token-bucket\","
            + "\"capacity\":1,\"refill_tokens\":1,\"refill_period\":\"P1D\"}}";
    int port = node.httpPort();
    for (String path :
        List.of(
            "/v1/policies/../../health/live",
            "/v1/policies/%2e%2e/%2e%2e/health/live",
            "/v1/policies/../../problems/x",
            "/v1/clients/../check")) {
      for (String method : List.of("PUT", "GET", "DELETE")) {
        assertEquals(400, ask(method, port, path, "", policy).statusCode(), method + path);
        assertEquals(
            400, ask(method, port, path, token("gateway"), policy).statusCode(), method + path);
      }
    }
    // a part of its segment: the policy of that name, for operators alone
    String encoded = "/v1/policies/..%2f..%2fhealth/live";
    assertEquals(401, ask("PUT", port, encoded, "", policy).statusCode());
    assertEquals(403, ask("PUT", port, encoded, token("gateway"), policy).statusCode());
    String policies = ask("GET", port, "/v1/policies", token("operator"), "").body();
    assertFalse(policies.contains("health"), policies);
  }

  /** Either aggregator answers for every client, by asking the other one in the caller's name. */
  @Test
  void aCustomersToken_seesThatCustomersUsage_andNothingElse() throws Exception {
    for (String client : List.of("acme", "other", "third", "fourth")) {
      assertEquals(200, check("gateway", client).statusCode());
    }
    for (String client : List.of("acme", "other", "third", "fourth")) {
      Await.until(
          "the call of " + client, () -> quantity(report(usage(client), token("reader"))) >= 1);
    }
    String acme = token("acme");
    assertTrue(quantity(report(usage("acme"), acme)) >= 1);
    assertEquals(200, report("/v1/usage/acme/current", acme).statusCode());
    assertEquals(200, report("/v1/usage/acme/events", acme).statusCode());

    // refused alike, whether there is such a client or not
    String refusal = report(usage("other"), acme).body();
    assertTrue(refusal.contains("\"reason\":\"not-allowed\""), refusal);
    for (String client : List.of("other", "no-such-client", "ACME", "acme%00", "acme%2Fother")) {
      for (String path :
          List.of(
              usage(client),
              "/v1/usage/" + client + "/current",
              "/v1/usage/" + client + "/events")) {
        HttpResponse<String> answer = report(path, acme);
        boolean isName = !client.contains("%");
        assertTrue(answer.statusCode() == 403 || (!isName && answer.statusCode() == 400), path);
        assertTrue(!isName || answer.body().equals(refusal), answer::body);
        // what is no path of HTTP is refused before anybody asks who sends it
        assertTrue(
            report(path, "").statusCode() == (answer.statusCode() == 400 ? 400 : 401) || !isName,
            path);
      }
    }
    assertEquals(400, report(usage("acme") + "&client=other", acme).statusCode());
    for (String path :
        List.of(
            "/v1/clients",
            "/v1/clients?order=quantity",
            "/v1/endpoints?order=quantity",
            "/v1/completeness",
            "/v1/accuracy",
            "/metrics",
            "/v1/nothing",
            "/nowhere")) {
      assertEquals(403, report(path, acme).statusCode(), path);
      assertEquals(401, report(path, "").statusCode(), path);
      boolean isKnown = !path.equals("/nowhere") && !path.equals("/v1/nothing");
      assertEquals(!isKnown, report(path, token("reader")).statusCode() == 403, path);
    }
    JsonNode fleet = JSON.readTree(report("/v1/completeness", token("reader")).body());
    assertEquals(4, fleet.path("partitions").size(), fleet::toString);
    assertEquals(403, report(usage("acme"), token("gateway")).statusCode());
    assertEquals(200, report("/", "").statusCode());
    assertEquals(200, report("/health/live", "").statusCode());
  }

  @Test
  void portalToken_isMadeByAnOperator_andReadsItsClientAtEitherAggregator() throws Exception {
    String body = "{\"clients\":[\"acme\"],\"expires_in\":\"PT10M\"}";
    int port = first.reportsPort();
    for (String other : List.of("gateway", "reader", "acme")) {
      assertEquals(
          403, ask("POST", port, "/v1/portal-tokens", token(other), body).statusCode(), other);
    }
    HttpResponse<String> made = ask("POST", port, "/v1/portal-tokens", token("operator"), body);
    assertEquals(201, made.statusCode(), made::body);
    String portal = JSON.readTree(made.body()).path("token").textValue();
    for (Aggregator either : List.of(first, second)) {
      int at = either.reportsPort();
      assertEquals(200, ask("GET", at, usage("acme"), portal, "").statusCode());
      assertEquals(403, ask("GET", at, usage("other"), portal, "").statusCode());
      assertEquals(403, ask("GET", at, "/v1/clients", portal, "").statusCode());
      assertEquals(403, ask("POST", at, "/v1/portal-tokens", portal, body).statusCode());
    }
    for (String wrong :
        List.of(
            "{}",
            "{\"clients\":[]}",
            "{\"clients\":\"acme\"}",
            "{\"clients\":[null]}",
            "{\"clients\":[\"acme\"],\"expires_in\":\"P9D\"}",
            "{\"clients\":[\"acme\"],\"scope\":\"admin\"}",
            "[]",
            "")) {
      assertEquals(
          400,
          ask("POST", port, "/v1/portal-tokens", token("operator"), wrong).statusCode(),
          wrong);
    }
  }

  @Test
  void fuzzedTokens_areRefused() throws Exception {
    for (int seed = 1; seed <= FUZZED; seed++) {
      Random random = new Random(seed);
      StringBuilder sent = new StringBuilder(token("operator"));
      for (int i = 1 + random.nextInt(4); i > 0; i--) {
        int at = random.nextInt(sent.length());
        if (random.nextBoolean()) {
          sent.deleteCharAt(at);
        } else {
          sent.insert(at, (char) ('!' + random.nextInt(94)));
        }
      }
      int status = report("/v1/clients", sent.toString()).statusCode();
      assertEquals(401, status, "seed " + seed);
    }
  }
}
