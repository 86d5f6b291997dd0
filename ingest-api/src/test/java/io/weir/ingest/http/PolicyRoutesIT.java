// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Policies read and changed over HTTP, and the decisions that follow. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class PolicyRoutesIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private TestNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    node = TestNode.start(folder, Map.of("WEIR_HTTP_HOST", "0.0.0.0"));
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
  void whoChangesIt_isTold() throws Exception {
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
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.port() + path))
            .method(method, HttpRequest.BodyPublishers.ofString(body));
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
