// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.CoreSuite;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The answers to calls that are decided by tokens which the node has taken in advance. */
@CoreSuite
class LeaseIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String BY_LEASE =
      "weir_checks_total{decided_by=\"lease\",verdict=\"allowed\"}";
  private static final int CAPACITY = 200;

  /**
   * A bucket that gains no tokens during the test. Its tokens are admitted once, whatever is taken
   * in advance, and the reported remainder is correct.
   */
  @Test
  void bucketInUse_isDecidedByLeases_andAdmitsWhatItHolds(@TempDir Path folder) throws Exception {
    Path policies = folder.resolve("lease.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: burst
            limit: {algorithm: token-bucket, capacity: %d, refill_tokens: 1, refill_period: P30D}
            lease: {tokens: 10%%, for: PT1S}
        """
            .formatted(CAPACITY));
    try (TestNode node = TestNode.start(folder, Map.of("WEIR_POLICIES", policies.toString()))) {
      List<JsonNode> answers = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        answers.add(JSON.readTree(node.send(node.check("{\"client\":\"a\"}")).body()));
      }

      double byLease = node.metric(BY_LEASE);
      assertTrue(byLease > 10, "by leases " + byLease);
      List<Integer> left = new ArrayList<>();
      for (JsonNode answer : answers) {
        assertTrue(answer.path("allowed").asBoolean(), answer.toString());
        assertEquals("journaled", answer.path("durability").asText());
        left.add(answer.at("/limits/0/remaining").asInt());
        if (answer.path("decided_by").asText().equals("lease")) {
          assertEquals("burst", answer.at("/limits/0/policy").asText());
        }
      }
      // each of 100 calls has a token of its own
      assertEquals(100, left.stream().distinct().count(), left::toString);
      assertTrue(left.stream().mapToInt(Integer::intValue).max().orElseThrow() < CAPACITY);

      int admitted = answers.size();
      for (int i = 0; i < CAPACITY; i++) {
        JsonNode answer = JSON.readTree(node.send(node.check("{\"client\":\"a\"}")).body());
        admitted += answer.path("allowed").asBoolean() ? 1 : 0;
      }
      double unused = node.metric("weir_lease_tokens_unused_total");
      assertTrue(admitted <= CAPACITY, "admitted " + admitted);
      assertTrue(admitted + unused >= CAPACITY - 20, "admitted " + admitted + ", unused " + unused);
      String denied = node.send(node.check("{\"client\":\"a\"}")).body();
      assertEquals("cache", JSON.readTree(denied).path("decided_by").asText());
    }
  }
}
