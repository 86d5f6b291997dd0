// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CallRequest;
import io.weir.ingest.gate.KeyedCall;
import io.weir.limits.IpAddress;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.limits.policy.CallFacts;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class CheckRequestTest {
  @Test
  void read_everyMember_isRead() throws Exception {
    Call call =
        read(
            "{\"client\":\"acme\",\"endpoint\":\"GET /v1/items\",\"cost\":3,\"meter\":\"tokens\","
                + "\"ip\":\"203.0.113.9\",\"id\":\"7f1c\",\"attributes\":{\"plan\":\"free\"}}");

    assertEquals(
        new Call(
            new CallFacts(
                "acme",
                "GET /v1/items",
                "tokens",
                IpAddress.parse("203.0.113.9"),
                Map.of("plan", "free")),
            3,
            "7f1c"),
        call);
  }

  @Test
  void read_clientOnly_takesTheDefaults() throws Exception {
    assertEquals(new Call("acme", "-", "calls", 1, null, null), read("{\"client\":\"acme\"}"));
  }

  @Test
  void read_wrongMember_isNamed() {
    assertField("client", "{}");
    assertField("client", "{\"client\":7}");
    assertField("client", "{\"client\":null}");
    assertField("client", "{\"client\":\"\"}");
    assertField("client", "{\"client\":\"a\\nb\"}");
    assertField("client", "{\"client\":\"" + "x".repeat(257) + "\"}");
    assertField("cost", "{\"client\":\"a\",\"cost\":0}");
    assertField("cost", "{\"client\":\"a\",\"cost\":-1}");
    assertField("cost", "{\"client\":\"a\",\"cost\":1.0}");
    assertField("cost", "{\"client\":\"a\",\"cost\":\"1\"}");
    assertField("cost", "{\"client\":\"a\",\"cost\":9007199254740992}");
    assertField("cost", "{\"client\":\"a\",\"cost\":9223372036854775808}");
    assertField("ip", "{\"client\":\"a\",\"ip\":\"localhost\"}");
    assertField("id", "{\"client\":\"a\",\"id\":\"\"}");
    assertField("endpoint", "{\"client\":\"a\",\"endpoint\":[]}");
    assertField("attributes", "{\"client\":\"a\",\"attributes\":[]}");
  }

  @Test
  void read_apiKey_isKeptAsItsHashAlone() throws Exception {
    String body =
        "{\"api_key\":\"%s\",\"endpoint\":\"GET /x\",\"cost\":3,\"meter\":\"tokens\",\"id\":\"7\","
            + "\"ip\":\"203.0.113.9\",\"attributes\":{\"a\":1}}";
    KeyedCall call = assertInstanceOf(KeyedCall.class, readAny(body.formatted("weir_secret")));

    assertEquals(
        new KeyedCall(
            ApiKeyHash.of("weir_secret"),
            "GET /x",
            "tokens",
            IpAddress.parse("203.0.113.9"),
            Map.of("a", "1"),
            3,
            "7"),
        call);
    assertFalse(call.toString().contains("weir_secret"));
    // escaped or not, it is the same key
    assertEquals(call, readAny(body.formatted("\\u0077eir_secret")));
    assertEquals(
        new KeyedCall(ApiKeyHash.of("k"), "-", "calls", null, Map.of(), 1, null),
        readAny("{\"api_key\":\"k\"}"));
    String longest = "€".repeat(KeyedCall.MAX_API_KEY_BYTES / 3);
    assertEquals(
        ApiKeyHash.of(longest),
        assertInstanceOf(KeyedCall.class, readAny("{\"api_key\":\"" + longest + "\"}")).apiKey());
  }

  @Test
  void read_wrongApiKey_isNamed_andNoPartOfItIsRepeated() {
    String secret = "weir_secret";
    for (String key :
        new String[] {
          "\"\"",
          "7",
          "null",
          "[\"" + secret + "\"]",
          "{\"" + secret + "\":1}",
          "\"" + secret + "\\n\"",
          "\"" + secret + "\\u0000\"",
          "\"" + secret + "\\ud800\"",
          "\"" + secret.repeat(100) + "\"",
          "\"" + secret + "\",\"client\":\"acme\""
        }) {
      JsonBody.Invalid invalid =
          assertThrows(JsonBody.Invalid.class, () -> readAny("{\"api_key\":" + key + "}"));
      assertEquals("api_key", invalid.problem().field(), key);
      assertFalse(invalid.problem().toString().contains(secret), invalid.problem()::toString);
    }
    // which of two keys it is must not depend on the reader
    JsonBody.Invalid twice =
        assertThrows(
            JsonBody.Invalid.class,
            () -> readAny("{\"api_key\":\"weir_secret\",\"api_key\":\"weir_other\"}"));
    assertEquals(
        "the body must be one JSON object in UTF-8; it has the member api_key twice",
        twice.problem().detail());
  }

  @Test
  void read_attributes_textsNumbersAndTruth_theRestIsPassedOver() throws Exception {
    Call call =
        read(
            "{\"client\":\"a\",\"attributes\":{\"region\":\"eu-1\",\"level\":2.50,\"beta\":true,"
                + "\"none\":null,\"deep\":{\"region\":\"us\"},\"list\":[1,{}],\"last\":\"\"}}");

    assertEquals(
        Map.of("region", "eu-1", "level", "2.50", "beta", "true", "last", ""),
        call.facts().attributes());
  }

  @Test
  void read_moreAttributesThanThereMayBe_isRefused() {
    String many =
        IntStream.rangeClosed(0, CheckRequest.MAX_ATTRIBUTES)
            .mapToObj(i -> "\"a" + i + "\":1")
            .collect(Collectors.joining(",", "{", "}"));
    assertField("attributes", "{\"client\":\"a\",\"attributes\":" + many + "}");
  }

  @Test
  void read_longAttribute_isRefused() throws Exception {
    String longest = "x".repeat(CheckRequest.MAX_ATTRIBUTE_CHARS);
    Call call = read("{\"client\":\"a\",\"attributes\":{\"b\":\"" + longest + "\"}}");
    assertEquals(longest, call.facts().attributes().get("b"));
    assertField("attributes", "{\"client\":\"a\",\"attributes\":{\"b\":\"" + longest + "x\"}}");
  }

  @Test
  void read_misspeltMember_isRefused_byItsName() {
    Problem problem =
        assertThrows(
                JsonBody.Invalid.class, () -> read("{\"client\":\"a\",\"endpont\":\"GET /x\"}"))
            .problem();

    assertEquals(ProblemReason.UNKNOWN_MEMBER, problem.reason());
    assertEquals("endpont", problem.field());
    assertEquals(
        "endpont is unknown; the known members are client, api_key, endpoint, meter, cost, id, ip"
            + " and attributes",
        problem.detail());
  }

  @Test
  void read_unknownMember_isIgnored_ifConfigured() throws Exception {
    String body = "{\"client\":\"acme\",\"new\":[{\"deep\":null}],\"cost\":2}";

    CallRequest call =
        CheckRequest.read(body.getBytes(StandardCharsets.UTF_8), UnknownMembers.IGNORE);

    assertEquals(new Call("acme", "-", "calls", 2, null, null), call);
  }

  @Test
  void read_invalidJson_isExplainedInPlainWords() {
    assertBody("it ends before the object does", "{\"client\":\"a\"");
    assertBody("it ends before the object does", "{\"client\":\"a");
    assertBody("it has the member client twice", "{\"client\":\"a\",\"client\":\"b\"}");
    assertBody("it is not JSON at line 2, column 3", "{\n  client: 1}");
    assertBody("it is another JSON value", "[]");
    assertBody("it is empty", "");
    assertBody("there is more text after the object", "{\"client\":\"a\"}{}");
    assertBody(
        "it is nested more than 32 deep, or has a name or number that is too long",
        "{\"attributes\":" + "{\"x\":".repeat(40));
  }

  private static void assertBody(String fault, String body) {
    Problem problem = assertThrows(JsonBody.Invalid.class, () -> read(body)).problem();

    assertEquals(ProblemReason.INVALID_BODY, problem.reason());
    assertEquals("the body must be one JSON object in UTF-8; " + fault, problem.detail());
  }

  @Test
  void read_largestCost_isAccepted() throws Exception {
    assertEquals(
        9_007_199_254_740_991L, read("{\"client\":\"a\",\"cost\":9007199254740991}").cost());
  }

  @Test
  void read_notOneJsonObject_isRefused() {
    for (String body :
        new String[] {
          "",
          "null",
          "[]",
          "\"a\"",
          "{\"client\":\"a\"",
          "{\"client\":\"a\"} x",
          "{\"client\":\"a\"}{}",
          "{client:1}",
          "[".repeat(100_000)
        }) {
      JsonBody.Invalid invalid = assertThrows(JsonBody.Invalid.class, () -> read(body));
      assertEquals(400, invalid.problem().status());
      assertTrue(invalid.problem().detail().startsWith("the body must"), body);
    }
  }

  @Test
  void read_corruptBytes_areRefusedOnlyAsABadRequest() {
    Random random = new Random(4_711);
    byte[] good =
        "{\"client\":\"acme\",\"cost\":3,\"attributes\":{}}".getBytes(StandardCharsets.UTF_8);
    for (int i = 0; i < 20_000; i++) {
      byte[] body = good.clone();
      for (int flips = random.nextInt(4); flips >= 0; flips--) {
        body[random.nextInt(body.length)] = (byte) random.nextInt(256);
      }
      try {
        CheckRequest.read(body, UnknownMembers.REFUSE);
      } catch (JsonBody.Invalid expected) {
        assertEquals(400, expected.problem().status());
      }
    }
  }

  private static Call read(String body) throws JsonBody.Invalid {
    return assertInstanceOf(Call.class, readAny(body));
  }

  private static CallRequest readAny(String body) throws JsonBody.Invalid {
    return CheckRequest.read(body.getBytes(StandardCharsets.UTF_8), UnknownMembers.REFUSE);
  }

  private static void assertField(String field, String body) {
    JsonBody.Invalid invalid = assertThrows(JsonBody.Invalid.class, () -> readAny(body));
    assertEquals(field, invalid.problem().field(), body);
    assertTrue(invalid.problem().detail().startsWith(field + " "), invalid.problem().detail());
  }
}
