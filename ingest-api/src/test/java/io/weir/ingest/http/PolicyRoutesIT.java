// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.limits.policy.ApiKeyHash;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Policies read and changed over HTTP, and the decisions that follow. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class PolicyRoutesIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String RECORDED = "weir_log_appended_calls_total";
  private static final String REFUSED_KEYS = "weir_api_keys_refused_total{reason=\"unknown\"}";

  private TestNode node;
  private Path data;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    data = folder.resolve("data");
    node = TestNode.start(folder, Map.of("WEIR_HTTP_HOST", "0.0.0.0", "WEIR_UNPROTECTED", "allow"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void putPolicy_isInForceWhenItIsAnswered_andEachCallNamesItsVersion() throws Exception {
    HttpResponse<String> made = put("/v1/policies/put", policy("PUT *", 1, "enforce"));
    assertEquals(200, made.statusCode(), made.body());
    JsonNode answer = JSON.readTree(made.body());
    assertTrue(answer.path("changed").asBoolean());
    assertTrue(answer.path("in_force").asBoolean());
    assertEquals("put", answer.path("policy").path("name").asText());
    long version = answer.path("version").asLong();
    assertEquals(Optional.of("\"" + version + "\""), made.headers().firstValue("ETag"));

    HttpResponse<String> allowed = check("p1", "PUT /x");
    assertEquals(200, allowed.statusCode());
    assertEquals(version, JSON.readTree(allowed.body()).path("policies_version").asLong());
    assertEquals(429, check("p1", "PUT /x").statusCode());

    JsonNode again = JSON.readTree(put("/v1/policies/put", policy("PUT *", 1, "enforce")).body());
    assertFalse(again.path("changed").asBoolean());
    assertEquals(version, again.path("version").asLong());

    assertEquals(200, delete("/v1/policies/put").statusCode());
    HttpResponse<String> unlimited = check("p1", "PUT /x");
    assertEquals(200, unlimited.statusCode());
    assertEquals("none", JSON.readTree(unlimited.body()).path("decided_by").asText());
    assertEquals(1, node.metric("weir_checks_unmatched_total{endpoint_prefix=\"PUT /x\"}"));
  }

  /**
   * Seven of ten used: three are left of ten, at most two of two, and seven stay used of a hundred.
   */
  @Test
  void limitOfAQuota_isChangedWhileItIsUsed_whatWasUsedStays() throws Exception {
    put("/v1/policies/day", quota(10));
    for (int i = 0; i < 7; i++) {
      assertEquals(200, check("q1", "QUOTA /x").statusCode());
    }
    put("/v1/policies/day", quota(8));
    assertEquals(200, check("q1", "QUOTA /x").statusCode());
    assertEquals(429, check("q1", "QUOTA /x").statusCode());
    put("/v1/policies/day", quota(100));
    JsonNode limit = JSON.readTree(check("q1", "QUOTA /x").body()).path("limits").get(0);
    assertEquals(91, limit.path("remaining").asLong());
    delete("/v1/policies/day");
  }

  @Test
  void ifMatch_isOnlyDoneOnTheVersionThatWasSeen() throws Exception {
    HttpResponse<String> first = put("/v1/policies/tag", policy("TAG *", 5, "enforce"));
    String tag = first.headers().firstValue("ETag").orElseThrow();
    assertEquals(tag, node.get("/v1/policies/tag").headers().firstValue("ETag").orElseThrow());
    assertEquals(
        200, put("/v1/policies/tag", policy("TAG *", 6, "enforce"), "If-Match", tag).statusCode());

    HttpResponse<String> late =
        put("/v1/policies/tag", policy("TAG *", 7, "enforce"), "If-Match", tag);
    assertProblem(412, "changed-since", late);
    assertTrue(late.body().contains("changed by"), late.body());
    assertProblem(
        412,
        "changed-since",
        put("/v1/policies/tag", policy("TAG *", 7, "enforce"), "If-None-Match", "*"));
    assertProblem(
        400,
        "invalid-header",
        put("/v1/policies/tag", policy("TAG *", 7, "enforce"), "If-Match", "seven"));
    assertEquals(200, delete("/v1/policies/tag").statusCode());
    assertProblem(404, "policy-not-found", delete("/v1/policies/tag"));
    assertProblem(404, "policy-not-found", node.get("/v1/policies/tag"));
  }

  @Test
  void entry_namesItsEditor() throws Exception {
    put("/v1/policies/who", policy("WHO *", 5, "enforce"), "Weir-Changed-By", "alice");
    JsonNode entry = JSON.readTree(node.get("/v1/policies/who").body());
    assertEquals("alice (HTTP from 127.0.0.1)", entry.path("changed_by").asText());
    assertTrue(entry.path("changed_at").asText().startsWith("20"), entry.toString());
    delete("/v1/policies/who");
  }

  @Test
  void invalid_isRefusedWithEveryProblem() throws Exception {
    long version = version();
    HttpResponse<String> refused =
        put(
            "/v1/policies/wrong",
            "{\"limit\":{\"capacity\":0,\"refill_tokens\":1,\"refill_period\":\"PT1M\"},\"mod\":1}");
    assertProblem(400, "invalid-policy", refused);
    JsonNode errors = JSON.readTree(refused.body()).path("errors");
    assertEquals(2, errors.size(), refused.body());
    assertTrue(errors.toString().contains("policies['wrong'].limit.capacity"), refused.body());
    assertTrue(errors.toString().contains("policies['wrong'].mod is not known"), refused.body());

    assertProblem(400, "invalid-policy", put("/v1/policies/x", "{\"name\":\"y\"}"));
    assertProblem(400, "invalid-body", put("/v1/policies/x", "[]"));
    assertProblem(400, "invalid-body", put("/v1/policies/x", "{\"a\":1,\"a\":2}"));
    assertProblem(400, "invalid-body", put("/v1/policies/x", "{} {}"));
    assertProblem(400, "invalid-body", put("/v1/policies/x", ""));
    assertProblem(400, "invalid-member", put("/v1/switches/enforcement", "{\"mode\":\"on\"}"));
    assertProblem(400, "invalid-policy", put("/v1/clients/x", "{\"time_zone\":\"Mars\"}"));
    assertProblem(405, "method-not-allowed", send("POST", "/v1/policies", "{}"));
    assertEquals(version, version());
  }

  @Test
  void switchOfAll_letsCallsPass_andPutsTheLimitsBack() throws Exception {
    put("/v1/policies/switched", policy("SWITCH *", 1, "enforce"));
    assertEquals(200, check("s1", "SWITCH /x").statusCode());
    assertEquals(429, check("s1", "SWITCH /x").statusCode());
    try {
      assertEquals(200, put("/v1/switches/enforcement", "{\"mode\":\"shadow\"}").statusCode());
      JsonNode shadowed = JSON.readTree(check("s1", "SWITCH /x").body());
      assertTrue(shadowed.path("allowed").asBoolean());
      assertEquals("shadow", shadowed.path("limits").get(0).path("mode").asText());

      put("/v1/switches/enforcement", "{\"mode\":\"off\"}");
      assertEquals(
          "none", JSON.readTree(check("s1", "SWITCH /x").body()).path("decided_by").asText());
      assertEquals(
          "off", JSON.readTree(node.get("/v1/switches/enforcement").body()).path("mode").asText());
      assertEquals(
          "off", JSON.readTree(node.get("/v1/policies").body()).path("enforcement").asText());
    } finally {
      put("/v1/switches/enforcement", "{\"mode\":\"enforce\"}");
    }
    assertEquals(429, check("s1", "SWITCH /x").statusCode());
    delete("/v1/policies/switched");
  }

  @Test
  void clientsCalendar_isReadAndChanged() throws Exception {
    assertEquals(200, put("/v1/clients/a%2Fb", "{\"time_zone\":\"Europe/Paris\"}").statusCode());
    JsonNode client = JSON.readTree(node.get("/v1/clients/a%2Fb").body());
    assertEquals("Europe/Paris", client.path("client").path("time_zone").asText());
    assertEquals(1, JSON.readTree(node.get("/v1/policies").body()).path("clients").asInt());
    assertEquals(200, delete("/v1/clients/a%2Fb").statusCode());
    assertProblem(404, "policy-not-found", node.get("/v1/clients/a%2Fb"));
  }

  @Test
  void apiKey_isCreated_namesItsClient_isRotated_andRevoked() throws Exception {
    double refused = node.metric(REFUSED_KEYS);
    HttpResponse<String> made =
        send(
            "POST",
            "/v1/clients/key%2Fed/keys",
            "{\"id\":\"ci\",\"expires_at\":\"2999-01-01T00:00:00Z\"}");
    assertEquals(201, made.statusCode(), made.body());
    JsonNode answer = JSON.readTree(made.body());
    String secret = answer.path("api_key").asText();
    assertTrue(secret.matches("weir_[A-Za-z0-9_-]{43}"), made.body());
    assertEquals(ApiKeyHash.of(secret).toString(), answer.path("key").path("sha256").asText());
    assertEquals(Optional.of("no-store"), made.headers().firstValue("Cache-Control"));

    double recorded = node.metric(RECORDED);
    HttpResponse<String> allowed = checkByKey(secret);
    assertEquals(200, allowed.statusCode(), allowed.body());
    assertEquals("key/ed", JSON.readTree(allowed.body()).path("client").asText());
    assertEquals(
        answer.path("version").asLong(),
        JSON.readTree(allowed.body()).path("policies_version").asLong());
    assertEquals(recorded + 1, node.metric(RECORDED));

    // two at once, while the callers change over
    JsonNode next = JSON.readTree(send("POST", "/v1/clients/key%2Fed/keys", "").body());
    String id = next.path("key").path("id").asText();
    assertEquals(next.path("key").path("sha256").asText().substring(0, 8), id);
    assertEquals(200, checkByKey(next.path("api_key").asText()).statusCode());
    assertEquals(200, checkByKey(secret).statusCode());
    HttpResponse<String> list = node.get("/v1/clients/key%2Fed/keys");
    assertEquals(2, JSON.readTree(list.body()).path("keys").size(), list.body());
    assertEquals(200, node.get("/v1/clients/key%2Fed/keys/" + id).statusCode());

    String tag = list.headers().firstValue("ETag").orElseThrow();
    assertEquals(
        200, send("DELETE", "/v1/clients/key%2Fed/keys/ci", "", "If-Match", tag).statusCode());
    assertProblem(
        412,
        "changed-since",
        send("DELETE", "/v1/clients/key%2Fed/keys/" + id, "", "If-Match", tag));
    recorded = node.metric(RECORDED);
    HttpResponse<String> revoked = checkByKey(secret);
    assertProblem(401, "api-key-refused", revoked);
    assertEquals(
        Optional.of("application/problem+json"), revoked.headers().firstValue("Content-Type"));
    assertEquals(Optional.of("ApiKey"), revoked.headers().firstValue("WWW-Authenticate"));
    HttpResponse<String> batch =
        node.send(
            node.post(
                "/v1/check/batch",
                "[{\"api_key\":\"%s\"},{\"api_key\":\"%s\"},{\"client\":\"c\"}]"
                    .formatted(secret, next.path("api_key").asText())));
    JsonNode results = JSON.readTree(batch.body());
    assertEquals(401, results.path(0).path("status").asInt(), batch.body());
    assertEquals("api_key", results.path(0).path("field").asText(), batch.body());
    assertEquals("key/ed", results.path(1).path("client").asText(), batch.body());
    assertEquals("c", results.path(2).path("client").asText(), batch.body());
    assertEquals(recorded + 2, node.metric(RECORDED));
    assertEquals(refused + 2, node.metric(REFUSED_KEYS));
    assertNowhere(
        secret, revoked.body() + batch.body() + list.body() + node.get("/metrics").body());

    delete("/v1/clients/key%2Fed");
    assertProblem(401, "api-key-refused", checkByKey(next.path("api_key").asText()));
    put("/v1/clients/key%2Fed", "{}");
    assertProblem(401, "api-key-refused", checkByKey(next.path("api_key").asText()));
    delete("/v1/clients/key%2Fed");
  }

  /** The key is in no answer and no file; its hash is in a file that only its owner reads. */
  private void assertNowhere(String secret, String answers) throws Exception {
    assertFalse(answers.contains(secret), answers);
    Path snapshot = data.resolve("ingest").resolve("policies.json");
    assertTrue(Files.readString(snapshot).contains("api_keys"));
    assertEquals(
        "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(snapshot)));
    try (Stream<Path> files = Files.walk(data)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        String bytes = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        assertFalse(bytes.contains(secret), file::toString);
      }
    }
  }

  @Test
  void apiKeys_whatIsWrong_isRefused_andNothingIsChanged() throws Exception {
    String hash = ApiKeyHash.of("elsewhere").toString();
    HttpResponse<String> imported =
        send("POST", "/v1/clients/importer/keys", "{\"id\":\"old\",\"sha256\":\"" + hash + "\"}");
    assertEquals(201, imported.statusCode(), imported.body());
    assertTrue(JSON.readTree(imported.body()).path("api_key").isMissingNode(), imported.body());
    assertEquals(200, checkByKey("elsewhere").statusCode());
    long version = version();

    String path = "/v1/clients/importer/keys";
    assertProblem(400, "invalid-policy", send("POST", path, "{\"id\":\"old\"}"));
    assertProblem(
        400,
        "invalid-policy",
        send("POST", "/v1/clients/other/keys", "{\"sha256\":\"" + hash + "\"}"));
    assertProblem(400, "invalid-policy", send("POST", path, "{\"expires\":\"soon\"}"));
    assertProblem(400, "invalid-policy", send("POST", path, "{\"expires_at\":\"soon\"}"));
    assertProblem(
        400, "invalid-member", send("POST", path, "{\"expires_at\":\"2026-01-01T00:00:00Z\"}"));
    assertProblem(400, "invalid-body", send("POST", path, "[]"));
    assertProblem(412, "changed-since", send("POST", path, "", "If-Match", "\"1\""));
    assertProblem(403, "admin-not-allowed", send("POST", path, "", "Via", "1.1 proxy"));
    assertProblem(404, "policy-not-found", delete(path + "/none"));
    assertProblem(404, "policy-not-found", node.get("/v1/clients/nobody/keys"));
    assertProblem(404, "policy-not-found", node.get(path + "/none"));
    HttpResponse<String> put = put(path, "{}");
    assertProblem(405, "method-not-allowed", put);
    assertEquals(Optional.of("GET, HEAD, POST, OPTIONS"), put.headers().firstValue("Allow"));
    assertProblem(405, "method-not-allowed", delete(path));
    assertEquals(version, version());

    assertProblem(
        400,
        "invalid-parameter",
        node.send(node.post("/v1/check?api_key=elsewhere", "{\"client\":\"c\"}")));
    delete("/v1/clients/importer");
  }

  private HttpResponse<String> checkByKey(String secret) throws Exception {
    return node.send(node.check("{\"api_key\":\"" + secret + "\",\"endpoint\":\"GET /x\"}"));
  }

  /** A client's plan decides which policies it has; its own limit replaces the policy's. */
  @Test
  void plans_decideWhichPoliciesAClientHas() throws Exception {
    put("/v1/policies/free", policy("PLAN *", 1, "enforce"));
    put("/v1/policies/pro", policy("PLAN *", 2, "enforce"));
    assertEquals(200, put("/v1/plans/free", "{\"policies\":[\"free\"]}").statusCode());
    assertEquals(200, put("/v1/plans/pro", "{\"policies\":[\"pro\"]}").statusCode());
    assertEquals(200, put("/v1/settings/default_plan", "{\"value\":\"free\"}").statusCode());
    assertEquals(200, put("/v1/clients/gold", "{\"plan\":\"pro\"}").statusCode());
    String own =
        "{\"plan\":\"pro\",\"limits\":{\"pro\":{\"capacity\":3,\"refill_tokens\":1,"
            + "\"refill_period\":\"P1D\"}}}";
    assertEquals(200, put("/v1/clients/platinum", own).statusCode());
    try {
      assertEquals(1, admitted("anybody", "PLAN /x"));
      assertEquals(2, admitted("gold", "PLAN /x"));
      assertEquals(3, admitted("platinum", "PLAN /x"));

      assertProblem(400, "invalid-policy", delete("/v1/policies/pro"));
      assertProblem(400, "invalid-policy", delete("/v1/plans/pro"));
      assertProblem(400, "invalid-policy", put("/v1/clients/x", "{\"plan\":\"none\"}"));
      assertProblem(400, "invalid-policy", put("/v1/settings/colour", "{\"value\":\"red\"}"));
    } finally {
      delete("/v1/clients/gold");
      delete("/v1/clients/platinum");
      delete("/v1/settings/default_plan");
      delete("/v1/plans/free");
      delete("/v1/plans/pro");
      delete("/v1/policies/free");
      delete("/v1/policies/pro");
    }
  }

  private int admitted(String client, String endpoint) throws Exception {
    int admitted = 0;
    while (check(client, endpoint).statusCode() == 200) {
      admitted++;
    }
    return admitted;
  }

  @Test
  void unknownClients_areRefused_unlessTheSwitchIsOff() throws Exception {
    assertEquals(200, put("/v1/clients/known", "{}").statusCode());
    put("/v1/settings/unknown_clients", "{\"value\":\"refuse\"}");
    try {
      assertEquals(200, check("known", "ANY /x").statusCode());
      HttpResponse<String> refused = check("invented", "ANY /x");
      assertProblem(429, "blocked", refused);
      assertTrue(refused.body().contains("unknown-clients"), refused.body());
      assertEquals(Optional.empty(), refused.headers().firstValue("Retry-After"));
      put("/v1/switches/enforcement", "{\"mode\":\"shadow\"}");
      assertEquals(200, check("invented", "ANY /x").statusCode());
    } finally {
      put("/v1/switches/enforcement", "{\"mode\":\"enforce\"}");
      delete("/v1/settings/unknown_clients");
      delete("/v1/clients/known");
    }
    assertEquals(200, check("invented", "ANY /x").statusCode());
  }

  @Test
  void unmatchedCalls_areRefused_unlessTheSwitchIsOff() throws Exception {
    assertEquals(200, check("c", "NOBODY /matches").statusCode());
    put("/v1/settings/unmatched_calls", "{\"value\":\"refuse\"}");
    try {
      HttpResponse<String> refused = check("c", "NOBODY /matches");
      assertProblem(429, "blocked", refused);
      assertTrue(refused.body().contains("unmatched-calls"), refused.body());
      assertTrue(refused.body().contains("\"decided_by\":\"deny-cache\""), refused.body());
      put("/v1/switches/enforcement", "{\"mode\":\"off\"}");
      assertEquals(200, check("c", "NOBODY /matches").statusCode());
    } finally {
      put("/v1/switches/enforcement", "{\"mode\":\"enforce\"}");
      delete("/v1/settings/unmatched_calls");
    }
    assertEquals(200, check("c", "NOBODY /matches").statusCode());
  }

  /** Regressions: a request that a proxy forwards, or a web page sends, is not an operator's. */
  @ParameterizedTest
  @CsvSource({
    "X-Forwarded-For,203.0.113.9",
    "Forwarded,for=203.0.113.9",
    "Via,1.1 proxy",
    "Origin,http://evil.example",
    "Origin,http://127.0.0.1:3000",
    "Origin,http://localhost"
  })
  void whatIsPassedOnOrOfAPage_isNotAnswered(String field, String value) throws Exception {
    assertProblem(
        403,
        "admin-not-allowed",
        put("/v1/switches/enforcement", "{\"mode\":\"off\"}", field, value));
  }

  /** DNS rebinding: the page's own name leads to this machine. */
  @Test
  void forAnotherHost_isNotAnswered() throws Exception {
    try (RawHttp raw = node.connect()) {
      raw.send("GET /v1/policies HTTP/1.1\r\nHost: evil.example\r\n\r\n");
      assertEquals(403, raw.answer().status());
    }
  }

  /** Regression (500): the server looked up the character set. */
  @Test
  void bodyOfJsonWithAnUnknownCharacterSet_isReadAsUtf8() throws Exception {
    for (String type : List.of("application/json; charset=x", "application/json; charset=\"")) {
      HttpRequest request =
          HttpRequest.newBuilder(uri("/v1/policies/charset"))
              .header("Content-Type", type)
              .PUT(HttpRequest.BodyPublishers.ofString("{\"no\":1}"))
              .build();
      assertEquals(400, node.send(request).statusCode(), type);
    }
  }

  /** Regression: a page can make a browser send a body of these types to any server. */
  @ParameterizedTest
  @ValueSource(strings = {"text/plain", "application/x-www-form-urlencoded", "text/json", ""})
  void bodyThatDoesNotSayThatItIsJson_isNotTaken(String type) throws Exception {
    String hash = ApiKeyHash.of("of a page").toString();
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri("/v1/clients/page/keys"))
            .POST(HttpRequest.BodyPublishers.ofString("{\"sha256\":\"" + hash + "\"}"));
    if (!type.isEmpty()) {
      request.header("Content-Type", type);
    }
    HttpResponse<String> refused = node.send(request.build());
    assertProblem(415, "unsupported-media-type", refused);
    assertEquals("Content-Type", JSON.readTree(refused.body()).path("field").asText());
    assertEquals(404, node.get("/v1/clients/page").statusCode());
  }

  @Test
  void contentType_mayHaveParameters_isOptionalWithoutABody() throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(uri("/v1/clients/typed/keys"));
    assertEquals(
        201, node.send(request.POST(HttpRequest.BodyPublishers.noBody()).build()).statusCode());
    HttpRequest.Builder typed =
        request
            .header("Content-Type", "Application/JSON ; charset=utf-8")
            .header("Origin", "http://127.0.0.1:" + node.port());
    assertEquals(
        201, node.send(typed.POST(HttpRequest.BodyPublishers.ofString("{}")).build()).statusCode());
    delete("/v1/clients/typed");
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + node.port() + path);
  }

  @Test
  void ifMatchOfTheSwitch_isLookedAt() throws Exception {
    assertProblem(
        412,
        "changed-since",
        put("/v1/switches/enforcement", "{\"mode\":\"off\"}", "If-Match", "\"999\""));
    assertProblem(
        400,
        "invalid-header",
        put("/v1/policies/x", policy("X *", 1, "enforce"), "If-None-Match", "\"3\""));
    assertProblem(
        412, "changed-since", put("/v1/policies/x", policy("X *", 1, "enforce"), "If-Match", "*"));
    assertProblem(404, "no-such-route", put("/v1/policies/wide/", policy("X *", 1, "enforce")));
  }

  @Test
  void list_hasThePoliciesInTheirOrder_andHealthTheVersion() throws Exception {
    JsonNode list = JSON.readTree(node.get("/v1/policies").body());
    assertEquals("log", list.path("source").asText());
    assertTrue(list.path("problem").isNull());
    assertEquals("wide", list.path("policies").get(0).path("policy").path("name").asText());
    JsonNode health = JSON.readTree(node.get("/health/ready").body()).path("policies");
    assertTrue(health.path("ok").asBoolean());
    assertEquals("log", health.path("source").asText());
    assertEquals((double) version(), node.metric("weir_policies_version"));
    assertEquals(0, node.metric("weir_policies_behind"));
  }

  @Test
  void fromAnotherMachine_isNotAnswered() throws Exception {
    Optional<InetAddress> own =
        NetworkInterface.networkInterfaces()
            .flatMap(NetworkInterface::inetAddresses)
            .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
            .findFirst();
    Assumptions.assumeTrue(own.isPresent(), "the machine has no address but loopback");
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create(
                    "http://"
                        + own.orElseThrow().getHostAddress()
                        + ":"
                        + node.port()
                        + "/v1/policies"))
            .build();
    assertProblem(403, "admin-not-allowed", node.send(request));
  }

  private long version() throws Exception {
    return JSON.readTree(node.get("/v1/policies").body()).path("version").asLong();
  }

  private HttpResponse<String> check(String client, String endpoint) throws Exception {
    return node.send(
        node.check("{\"client\":\"" + client + "\",\"endpoint\":\"" + endpoint + "\"}"));
  }

  private HttpResponse<String> put(String path, String body, String... fields) throws Exception {
    return send("PUT", path, body, fields);
  }

  private HttpResponse<String> delete(String path) throws Exception {
    return send("DELETE", path, "");
  }

  private HttpResponse<String> send(String method, String path, String body, String... fields)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri(path)).method(method, HttpRequest.BodyPublishers.ofString(body));
    if (!body.isEmpty()) {
      request.header("Content-Type", "application/json");
    }
    if (fields.length > 0) {
      request.headers(fields);
    }
    return node.send(request.build());
  }

  private static void assertProblem(int status, String reason, HttpResponse<String> answer)
      throws Exception {
    assertEquals(status, answer.statusCode(), answer.body());
    assertEquals(reason, JSON.readTree(answer.body()).path("reason").asText(), answer.body());
  }

  private static String policy(String endpoint, long capacity, String mode) {
    return """
        {"match":{"endpoint":["%s"]},"mode":"%s",
         "limit":{"capacity":%d,"refill_tokens":1,"refill_period":"P1D"}}
        """
        .formatted(endpoint, mode, capacity);
  }

  private static String quota(long limit) {
    return """
        {"match":{"endpoint":["QUOTA *"]},
         "limit":{"algorithm":"quota","limit":%d,"period":"billing","billing_anchor":"2026-01-01"}}
        """
        .formatted(limit);
  }
}
