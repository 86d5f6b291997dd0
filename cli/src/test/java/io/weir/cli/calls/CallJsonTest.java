// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.calls;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.limits.BucketLimit;
import io.weir.limits.FixedWindowLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.SlidingWindowLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsagePosition;
import java.io.InputStream;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The printed objects follow the published schema, which has no member that is never printed. */
final class CallJsonTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long DECIDED_AT = 1_763_690_400_000L;
  private static final long ENDS_AT = 1_763_691_300_000_000L;

  private static final CallEvent FULL =
      new CallEvent(
              "order \"17\"",
              true,
              "grün",
              "GET /a",
              "calls",
              3,
              true,
              DecidedBy.LEASE,
              "burst",
              7,
              DECIDED_AT,
              "203.0.113.0/24",
              List.of(
                  charge("a", new TokenBucketLimit(10, 1, 1_000_000)),
                  charge("b", new QuotaLimit(10, ENDS_AT)),
                  charge("c", new FixedWindowLimit(10, ENDS_AT, 60_000_000)),
                  charge("d", new SlidingWindowLimit(10, ENDS_AT, 60_000_000, 4)),
                  new Charge("e", 3, null, null)))
          .billedIn(
              new BilledIn(
                  BillingPeriod.own("2025-11-21", "UTC", DECIDED_AT, DECIDED_AT + 2_592_000_000L),
                  BillingPeriod.own("2025-10-21", "UTC", DECIDED_AT - 2_678_400_000L, DECIDED_AT)));

  private static final CallEvent LEAST =
      new CallEvent(
          "1", false, "acme", "-", "calls", 1, false, DecidedBy.NONE, null, 0, 0, null, List.of());

  private static Charge charge(String bucket, BucketLimit limit) {
    return new Charge(bucket, 3, limit, new Stamp(1, 2, 3, 4));
  }

  @Test
  void calls_followTheSchema_whichHasNoMemberThatIsNeverPrinted() throws Exception {
    JsonNode schema;
    try (InputStream file =
        Objects.requireNonNull(
            CallEvent.class.getResourceAsStream("/io/weir/topics/schema/call-line.json"))) {
      schema = JSON.readTree(file);
    }
    JsonSchema validator =
        JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(schema);
    Set<String> printed = new TreeSet<>();
    Set<String> printedOfCharges = new TreeSet<>();
    CallEvent settled =
        FULL.settledAt(new CallSettlement(5, DECIDED_AT + 1, new UsagePosition(0, "n", 1, 2)));
    for (CallEvent call : List.of(FULL, settled, LEAST)) {
      JsonNode object = JSON.readTree(CallJson.format(call));
      assertEquals(Set.of(), validator.validate(object), object::toString);
      object.fieldNames().forEachRemaining(printed::add);
      object
          .path("charges")
          .forEach(charge -> charge.fieldNames().forEachRemaining(printedOfCharges::add));
    }
    assertEquals(names(schema.path("properties")), printed);
    assertEquals(names(schema.at("/properties/charges/items/properties")), printedOfCharges);
  }

  @Test
  void smallestCall_hasOnlyTheRequiredMembers() {
    assertEquals(
        "{\"id\":\"1\",\"client\":\"acme\",\"endpoint\":\"-\",\"meter\":\"calls\",\"cost\":1,"
            + "\"allowed\":false,\"decided_by\":\"none\",\"policies_version\":0,"
            + "\"decided_at_ms\":0}",
        CallJson.format(LEAST));
  }

  private static Set<String> names(JsonNode object) {
    Set<String> names = new TreeSet<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }
}
