// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.e2e.Recorded;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Capacity 40 with 20 a second, by two nodes: a share is 20 with 10 a second. */
final class AdmissionsTest {
  private final Admissions admissions = new Admissions(new Limit("GET ", 40, 20, 2));

  private static JsonNode call(long epochMillis, long cost, String decidedBy) {
    return JsonNodeFactory.instance
        .objectNode()
        .put("client", "acme")
        .put("endpoint", "GET /v1/items")
        .put("allowed", true)
        .put("decided_by", decidedBy)
        .put("decided_at_ms", epochMillis)
        .put("cost", cost);
  }

  private static Recorded.Row batch(String node, long linesBefore, JsonNode... calls) {
    Map<String, String> headers =
        Map.of("node", node, "node_epoch", "7", "lines_before", Long.toString(linesBefore));
    return new Recorded.Row(0, headers, List.of(calls));
  }

  private int beyond(long losses) {
    return admissions.beyond("acme", losses).size();
  }

  @Test
  void decidedByTheCache_mayAdmitCapacityAndRefill() {
    admissions.add(batch("a", 0, call(1_000, 40, "cache"), call(2_000, 21, "cache")));
    assertEquals(0, beyond(0));

    admissions.add(batch("a", 2, call(2_000, 1, "cache")));
    assertEquals(1, beyond(0));
  }

  @Test
  void decidedByTheCache_mayAdmitOneMoreCapacityPerLoss() {
    admissions.add(batch("a", 0, call(1_000, 81, "cache")));
    assertEquals(1, beyond(0));
    assertEquals(0, beyond(1));
  }

  @Test
  void decidedByANode_mayAdmitItsShare() {
    admissions.add(batch("a", 0, call(1_000, 20, "local"), call(2_000, 11, "local")));
    admissions.add(batch("b", 0, call(1_000, 21, "local")));
    assertEquals(0, beyond(0));

    admissions.add(batch("b", 1, call(1_000, 1, "local")));
    assertEquals(1, beyond(0));
  }

  @Test
  void decidedByANode_mayAdmitItsShareAgainAfterAMinuteWithoutLocalDecisions() {
    admissions.add(batch("a", 0, call(0, 20, "local"), call(60_000, 621, "local")));
    assertEquals(0, beyond(0));

    admissions.add(batch("a", 2, call(60_000, 1, "local")));
    assertEquals(1, beyond(0));
  }

  @Test
  void lineSentAgain_cutIntoOtherBatches_isOneCharge() {
    admissions.add(batch("a", 0, call(1_000, 20, "cache"), call(1_000, 20, "cache")));
    admissions.add(batch("a", 1, call(1_000, 20, "cache")));
    assertEquals(0, beyond(0));
  }

  @Test
  void deniedCallsAndOtherEndpoints_areNotCounted() {
    admissions.add(batch("a", 0, call(1_000, 40, "cache")));
    JsonNode denied = call(1_000, 40, "cache").deepCopy();
    ((ObjectNode) denied).put("allowed", false);
    JsonNode other = call(1_000, 40, "cache").deepCopy();
    ((ObjectNode) other).put("endpoint", "POST /v1/orders");
    admissions.add(batch("a", 1, denied, other));
    assertEquals(0, beyond(0));
  }
}
