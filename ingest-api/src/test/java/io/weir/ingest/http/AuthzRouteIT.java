// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.http.RawHttp.Answer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Answers to gateways over HTTP, by a node with a real broker and a real Redis. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class AuthzRouteIT {
  private static final Set<Integer> KNOWN_TO_A_CALLER = Set.of(200, 400, 401, 429, 431);

  private TestNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    Path policies = folder.resolve("two.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: twice
            match: {endpoint: ["* /v1/items/{id}"]}
            limit: {algorithm: token-bucket, capacity: 2, refill_tokens: 1, refill_period: PT1H}
          - name: by-address
            match: {endpoint: ["GET /by-address"]}
            key: [ip]
            limit: {algorithm: token-bucket, capacity: 1, refill_tokens: 1, refill_period: PT1H}
          - name: never
            match: {endpoint: ["GET /never"]}
            limit: {algorithm: deny}
          - name: in-utf-8
            match: {endpoint: ["GET /zo\u00eb"], client: ["zo\u00eb"]}
            limit: {algorithm: deny}
        """);
    Path routes = folder.resolve("routes");
    Files.writeString(routes, "GET /v1/items/{id}\nGET /by-address\nGET /never\nGET /zo\u00eb\n");
    node =
        TestNode.start(
            folder,
            Map.of(
                "WEIR_POLICIES", policies.toString(),
                "WEIR_AUTHZ_CLIENT_HEADER", "X-Client",
                "WEIR_AUTHZ_TRUSTED_HOPS", "1",
                "WEIR_AUTHZ_ROUTES", routes.toString(),
                "WEIR_LIMIT_HEADERS", "draft-11,x-delta"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  private Answer ask(String line, String... fields) throws Exception {
    try (RawHttp connection = node.connect()) {
      return connection.send(request(line, fields)).answer();
    }
  }

  private static String request(String line, String... fields) {
    StringBuilder text = new StringBuilder(line + " HTTP/1.1\r\nHost: localhost\r\n");
    for (String field : fields) {
      text.append(field).append("\r\n");
    }
    return text.append("\r\n").toString();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "plain   | GET  | ''            | X-Weir-Method: GET      | X-Weir-Path: /v1/items/1?q        | 429",
        "nginx   | GET  | ''            | X-Original-Method: GET  | X-Original-URI: /v1/items/2?q     | 403",
        "traefik | POST | ''            | X-Forwarded-Method: GET | X-Forwarded-Uri: //v1/items/3?q=1 | 429",
        "envoy   | GET  | /v1/items/4?q | A: b                    | C: d                              | 429",
      })
  void call_isAllowedThenDenied_asTheGatewayUnderstands(
      String dialect, String method, String rest, String first, String second, int denial)
      throws Exception {
    String line = method + " /v1/authz/" + dialect + rest;
    String client = "X-Client: client-of-" + dialect;

    Answer allowed = ask(line, client, first, second);
    ask(line, client, first, second);
    Answer denied = ask(line, client, first, second);

    assertEquals(200, allowed.status(), allowed.toString());
    assertEquals("", allowed.body());
    assertEquals("\"twice\";r=1;t=3600", allowed.headers().get("ratelimit"));
    assertEquals("1", allowed.headers().get("x-ratelimit-remaining"));
    assertNotNull(allowed.headers().get("usage-position"));
    assertNull(allowed.headers().get("retry-after"));
    assertEquals(denial, denied.status(), denied.toString());
    assertEquals("3600", denied.headers().get("retry-after"));
    assertEquals("3600", denied.headers().get("x-ratelimit-reset"));
    assertTrue(String.valueOf(denied.headers().get("ratelimit")).startsWith("\"twice\";r=0"));
    assertEquals("not-enough-tokens", denied.headers().get("x-ratelimit-reason"));
    assertEquals(denial == 403 ? "429" : null, denied.headers().get("x-ratelimit-status"));
    assertEquals(denial == 403, denied.body().isEmpty(), denied.body());
  }

  @Test
  void head_isAnswered_andTheConnectionIsKept() throws Exception {
    try (RawHttp connection = node.connect()) {
      String asked = request("HEAD /v1/authz/envoy/nowhere", "X-Client: keeps");
      for (int i = 0; i < 3; i++) {
        Answer answer = connection.send(asked).answer();
        assertEquals(200, answer.status(), answer.toString());
        assertEquals("0", answer.headers().get("content-length"));
        assertNull(answer.headers().get("connection"));
      }
    }
  }

  @Test
  void callThatCanNeverPass_hasNoRetryAfter() throws Exception {
    Answer answer =
        ask("GET /v1/authz/plain", "X-Client: n", "X-Weir-Method: GET", "X-Weir-Path: /never");

    assertEquals(429, answer.status(), answer.toString());
    assertEquals("blocked", answer.headers().get("x-ratelimit-reason"));
    assertNull(answer.headers().get("retry-after"));
    assertEquals("0", answer.headers().get("x-ratelimit-limit"));
    assertNull(answer.headers().get("x-ratelimit-reset"));
  }

  @Test
  void address_isTheTrustedHops_whateverTheCallerInvents() throws Exception {
    String[] fields = {
      "X-Client: i", "X-Weir-Method: GET", "X-Weir-Path: /by-address", "X-Forwarded-For: 1.1.1.1"
    };
    int[] statuses = new int[3];
    for (int i = 0; i < statuses.length; i++) {
      fields[3] = "X-Forwarded-For: 198.51.100." + i + ", 203.0.113.7";
      statuses[i] = ask("GET /v1/authz/plain", fields).status();
    }

    assertEquals(200, statuses[0]);
    assertEquals(429, statuses[1]);
    assertEquals(429, statuses[2]);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "plain | X-Weir-Method: GET     | X-Weir-Path: /       | A: b            | 401 | caller-unknown",
        "nginx | X-Original-Method: GET | X-Original-URI: /    | A: b            | 401 | caller-unknown",
        "plain | X-Weir-Method: GET     | X-Weir-Path: /       | X-Client:       | 401 | caller-unknown",
        "plain | X-Weir-Method: GET     | X-Client: a          | A: b            | 400 | invalid-header",
        "nginx | X-Weir-Method: GET     | X-Client: a          | A: b            | 400 | invalid-header",
        "plain | X-Weir-Path: /         | X-Weir-Path: /v1     | X-Client: a     | 400 | invalid-header",
      })
  void callThatIsNotDescribed_isRefused(
      String dialect, String first, String second, String third, int status, String reason)
      throws Exception {
    Answer answer = ask("GET /v1/authz/" + dialect, first, second, third);

    assertEquals(status, answer.status(), answer.toString());
    assertEquals(reason, answer.headers().get("x-ratelimit-reason"));
    assertEquals(status == 401, answer.headers().containsKey("www-authenticate"));
    assertEquals(dialect.equals("nginx"), answer.body().isEmpty());
  }

  @Test
  void bytesOfOtherAlphabets_areReadAsUtf8() throws Exception {
    Answer answer =
        ask(
            "GET /v1/authz/plain",
            "X-Client: zo\u00c3\u00ab",
            "X-Weir-Method: GET",
            "X-Weir-Path: /zo\u00c3\u00ab");

    assertEquals(429, answer.status(), answer.toString());
    assertTrue(answer.body().contains("\"in-utf-8\""), answer.body());
  }

  @Test
  void randomBytes_areNeverAFaultOfTheNode() throws Exception {
    for (long seed = 1; seed <= 400; seed++) {
      Random random = new Random(seed);
      String line =
          random.nextInt(3) == 0
              ? "GET /v1/authz/envoy/" + visible(random, 20)
              : "GET /v1/authz/" + (random.nextBoolean() ? "plain" : "traefik");
      Answer answer =
          ask(
              line,
              "X-Client: " + anyBytes(random, 10),
              "X-Weir-Method: " + anyBytes(random, 5),
              "X-Weir-Path: /" + anyBytes(random, 20),
              "X-Forwarded-Method: GET",
              "X-Forwarded-Uri: /v1/items/" + anyBytes(random, 20),
              "X-Forwarded-For: " + anyBytes(random, 20));

      assertTrue(
          KNOWN_TO_A_CALLER.contains(answer.status()), "seed " + seed + " " + line + ": " + answer);
    }
  }

  @Test
  void unknownDialect_isNoRoute() throws Exception {
    for (String path : new String[] {"/v1/authz/other", "/v1/authz", "/v1/authz/plain/x"}) {
      Answer answer = ask("GET " + path);
      assertEquals(404, answer.status(), answer.toString());
      assertFalse(answer.body().contains("authz-not-configured"), answer.body());
    }
  }

  private static String anyBytes(Random random, int length) {
    StringBuilder text = new StringBuilder();
    for (int left = random.nextInt(length); left > 0; left--) {
      char c = (char) (1 + random.nextInt(255));
      text.append(c == '\r' || c == '\n' ? ' ' : c);
    }
    return text.toString();
  }

  private static String visible(Random random, int length) {
    StringBuilder text = new StringBuilder();
    for (int left = random.nextInt(length); left > 0; left--) {
      text.append((char) (0x21 + random.nextInt(0x7f - 0x21)));
    }
    return String.format(Locale.ROOT, "%s", text);
  }
}
