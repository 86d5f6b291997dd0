// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * A real application on a servlet container, in front of it the filter, behind that a real node.
 */
final class WeirFilterIT {
  /** How fast an answer is, is not what these tests mean. */
  private static final String[] PATIENT = {"weir.deadline=3m", "weir.try-timeout=3m"};

  @TempDir private static Path folder;
  private static NodeFixture node;
  private static ConfigurableApplicationContext application;

  @BeforeAll
  static void start() throws Exception {
    node = new NodeFixture(folder);
    application =
        ItemsApplication.start(
            node.property(),
            "weir.failure-mode=closed",
            "weir.filter.api-key-header=X-API-Key",
            "weir.filter.routes=GET /items/{id}, GET /exports/{id}",
            PATIENT[0],
            PATIENT[1]);
  }

  @AfterAll
  static void stop() {
    application.close();
    node.close();
  }

  private static HttpResponse<String> get(String path, @Nullable String key) throws Exception {
    return node.get(ItemsApplication.port(application), path, key);
  }

  @Test
  void requests_passUntilTheLimit_andAreThenAnsweredWithATrue429() throws Exception {
    for (int i = 0; i < NodeFixture.ITEMS; i++) {
      HttpResponse<String> served = get("/items/" + i, NodeFixture.ACME);
      assertEquals(200, served.statusCode());
      assertEquals("item " + i, served.body());
      String left = served.headers().firstValue("RateLimit").orElse("");
      assertTrue(left.startsWith("\"items\";r=" + (NodeFixture.ITEMS - 1 - i)), left);
    }

    HttpResponse<String> denied = get("/items/9", NodeFixture.ACME);
    assertEquals(429, denied.statusCode());
    assertTrue(denied.headers().firstValueAsLong("Retry-After").orElse(0) > 3_000);
    assertTrue(denied.headers().firstValue("RateLimit-Policy").isPresent());
    assertEquals(
        "application/problem+json", denied.headers().firstValue("Content-Type").orElse(""));
    JsonNode problem = new ObjectMapper().readTree(denied.body());
    assertEquals("not-enough-tokens", problem.path("reason").asText());
    assertEquals("items", problem.path("violated-policies").path(0).asText());
    // what fits no template is another endpoint, and not limited here
    assertEquals(404, get("/items/9/more", NodeFixture.ACME).statusCode());
    // another client has a bucket of its own
    assertEquals(200, get("/items/9", NodeFixture.INITECH).statusCode());
  }

  @Test
  void callersThatNobodyKnows_areRefused() throws Exception {
    assertEquals(401, get("/items/1", null).statusCode());
    assertEquals(401, get("/items/1", "weir_nobody").statusCode());
    // no key can be so long
    HttpResponse<String> wrong = get("/items/1", "k".repeat(1_025));
    assertEquals(400, wrong.statusCode());
    assertEquals("api_key", new ObjectMapper().readTree(wrong.body()).path("field").asText());
  }

  @Test
  void slotOfARequest_isFreeAgain_whenItIsAnswered() throws Exception {
    for (int i = 0; i < 3; i++) {
      // its lease is longer than any test: nothing but a release frees it
      Await.until("a free slot", () -> get("/exports/1", NodeFixture.ACME).statusCode() == 200);
    }
  }

  @Test
  void weirAway_isDecidedByTheMode() throws Exception {
    String nobody = NodeFixture.nobody();
    try (ConfigurableApplicationContext open =
            ItemsApplication.start(
                nobody, "weir.failure-mode=open", "weir.filter.client-header=X-API-Key");
        ConfigurableApplicationContext closed =
            ItemsApplication.start(
                nobody, "weir.failure-mode=closed", "weir.filter.client-header=X-API-Key")) {
      HttpResponse<String> served = node.get(ItemsApplication.port(open), "/items/1", "acme");
      assertEquals(200, served.statusCode());
      assertTrue(served.headers().firstValue("RateLimit").isEmpty());

      HttpResponse<String> refused = node.get(ItemsApplication.port(closed), "/items/1", "acme");
      assertEquals(503, refused.statusCode());
      assertEquals("1", refused.headers().firstValue("Retry-After").orElse(""));
    }
  }

  @Test
  void pathsOutsideThePatterns_areNotAskedAbout() throws Exception {
    try (ConfigurableApplicationContext partly =
        ItemsApplication.start(
            NodeFixture.nobody(),
            "weir.failure-mode=closed",
            "weir.filter.client-header=X-API-Key",
            "weir.filter.url-patterns=/exports/*")) {
      int port = ItemsApplication.port(partly);
      assertEquals(200, node.get(port, "/items/1", null).statusCode());
      assertEquals(401, node.get(port, "/exports/1", null).statusCode());
      assertEquals(503, node.get(port, "/exports/1", "acme").statusCode());
    }
  }
}
