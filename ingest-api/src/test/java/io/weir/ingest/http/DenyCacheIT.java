// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Answers to a caller over its limit, by a node that does not query Redis again. */
class DenyCacheIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CHECKS_SENT = "weir_cache_checks_sent_total";
  private static final String DENIED =
      "weir_checks_total{decided_by=\"deny-cache\",verdict=\"denied\"}";

  @Test
  void overTheLimit_isDeniedByTheNode_withKnownFigures(@TempDir Path folder) throws Exception {
    Path policies = folder.resolve("two.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: wide
            limit: {algorithm: token-bucket, capacity: 1000, refill_tokens: 1, refill_period: PT1H}
          - name: day
            limit: {algorithm: token-bucket, capacity: 2, refill_tokens: 1, refill_period: PT12H}
        """);
    try (TestNode node =
        TestNode.start(
            folder, Map.of("WEIR_POLICIES", policies.toString(), "WEIR_DENY_CACHE", "PT1M"))) {
      assertEquals(200, node.send(node.check("{\"client\":\"a\",\"cost\":2}")).statusCode());
      HttpResponse<String> asked = node.send(node.check("{\"client\":\"a\"}"));
      double sent = node.metric(CHECKS_SENT);
      HttpResponse<String> repeated = node.send(node.check("{\"client\":\"a\",\"id\":\"own\"}"));
      JsonNode batch =
          JSON.readTree(
              node.send(node.post("/v1/check/batch", "[{\"client\":\"a\"},{\"client\":\"a\"}]"))
                  .body());

      assertEquals(sent, node.metric(CHECKS_SENT));
      assertEquals(3, node.metric(DENIED));
      assertEquals(429, repeated.statusCode());
      JsonNode before = JSON.readTree(asked.body());
      JsonNode after = JSON.readTree(repeated.body());
      assertEquals("cache", before.path("decided_by").asText());
      assertEquals("deny-cache", after.path("decided_by").asText());
      assertEquals("own", after.path("id").asText());
      assertEquals("journaled", after.path("durability").asText());
      for (String member : new String[] {"type", "title", "detail", "reason", "status"}) {
        assertEquals(before.path(member), after.path(member), member);
      }
      assertEquals(before.path("violated-policies"), after.path("violated-policies"));
      assertEquals(2, before.path("limits").size());
      assertEquals(1, after.path("limits").size());
      assertEquals("day", after.at("/limits/0/policy").asText());
      assertEquals(0, after.at("/limits/0/remaining").asInt());
      long retryAfter = after.path("retry_after_ms").asLong();
      assertTrue(retryAfter > 0 && retryAfter <= before.path("retry_after_ms").asLong());
      assertEquals("\"day\";q=2;w=86400", repeated.headers().firstValue("RateLimit-Policy").get());
      assertTrue(repeated.headers().firstValue("Retry-After").isPresent());
      assertTrue(repeated.headers().firstValue("Usage-Position").isPresent());
      assertEquals("deny-cache", batch.at("/1/decided_by").asText());
      assertEquals(429, batch.at("/1/status").asInt());

      HttpResponse<String> peek = node.send(node.post("/v1/check?peek=true", "{\"client\":\"a\"}"));
      assertEquals("cache", JSON.readTree(peek.body()).path("decided_by").asText());
      assertEquals(200, node.send(node.check("{\"client\":\"b\"}")).statusCode());
    }
  }
}
