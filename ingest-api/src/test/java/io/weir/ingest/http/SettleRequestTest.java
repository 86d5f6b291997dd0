// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.problem.Problem;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class SettleRequestTest {
  private static final String GOOD = "{\"client\":\"acme\",\"actual_cost\":12}";

  @Test
  void read_everyMember_isRead() throws Exception {
    assertEquals(
        new SettleRequest(new CallQuery("acme", "id/1", new UsagePosition(2, "node-1", 17, 4)), 12),
        SettleRequest.read("id/1", "2:node-1:17:4", utf8(GOOD), UnknownMembers.REFUSE));
  }

  @Test
  void read_unknownMember_isRefused_unlessItIsToBePassedOver() throws Exception {
    String body = GOOD.replace("{", "{\"new\":[{}],");

    assertEquals("new", invalid("a", null, body).field());
    assertEquals(12, SettleRequest.read("a", null, utf8(body), UnknownMembers.IGNORE).actualCost());
  }

  @Test
  void read_bounds_areInclusive() throws Exception {
    assertEquals(0, read(GOOD.replace("12", "0")).actualCost());
    assertEquals(9_007_199_254_740_991L, read(GOOD.replace("12", "9007199254740991")).actualCost());
  }

  @Test
  void read_wrongMember_isNamed() {
    assertField("client", "{\"actual_cost\":1}");
    assertField("client", "{\"client\":7,\"actual_cost\":1}");
    assertField("client", "{\"client\":\"\",\"actual_cost\":1}");
    assertField("actual_cost", "{\"client\":\"acme\"}");
    assertField("actual_cost", GOOD.replace("12", "-1"));
    assertField("actual_cost", GOOD.replace("12", "1.5"));
    assertField("actual_cost", GOOD.replace("12", "\"12\""));
    assertField("actual_cost", GOOD.replace("12", "null"));
    assertField("actual_cost", GOOD.replace("12", "9007199254740992"));
    assertEquals("id", invalid("a\tb", null, GOOD).field());
    assertEquals("id", invalid("x".repeat(257), null, GOOD).field());
    assertEquals("Usage-Position", invalid("a", "soon", GOOD).field());
  }

  @Test
  void read_whatIsNoObject_isRefused() {
    for (String body : new String[] {"", "[]", GOOD + "{}", "{\"client\":\"a\"", "null"}) {
      assertEquals(400, invalid("a", null, body).status());
    }
  }

  private static void assertField(String field, String body) {
    assertEquals(field, invalid("a", null, body).field(), body);
  }

  private static Problem invalid(String id, @Nullable String position, String body) {
    return assertThrows(
            JsonBody.Invalid.class,
            () -> SettleRequest.read(id, position, utf8(body), UnknownMembers.REFUSE))
        .problem();
  }

  private static SettleRequest read(String body) throws JsonBody.Invalid {
    return SettleRequest.read("a", null, utf8(body), UnknownMembers.REFUSE);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
