// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class CallTest {
  private static String written(Call call) {
    return new String(CallWriter.check(call, "7"), StandardCharsets.UTF_8);
  }

  @Test
  void call_ofAClient_isWrittenWithWhatItHas() {
    assertEquals("{\"client\":\"acme\",\"cost\":1,\"id\":\"7\"}", written(Call.of("acme")));
  }

  @Test
  void call_withEverything_isWrittenWhole() {
    Call call =
        Call.ofApiKey("weir_secret")
            .withEndpoint("GET /v1/items/{id}")
            .withMeter("bytes")
            .withCost(9_007_199_254_740_991L)
            .withId("not this one")
            .withIp("203.0.113.9")
            .withAttribute("plan", "\"free\"");

    assertEquals(
        "{\"api_key\":\"weir_secret\",\"endpoint\":\"GET /v1/items/{id}\",\"meter\":\"bytes\","
            + "\"cost\":9007199254740991,\"id\":\"7\",\"ip\":\"203.0.113.9\","
            + "\"attributes\":{\"plan\":\"\\\"free\\\"\"}}",
        written(call));
  }

  @Test
  void attributes_areTextsNumbersAndBooleans() {
    assertTrue(written(Call.of("a").withAttribute("big", 1.5)).contains("{\"big\":1.5}"));
    assertTrue(written(Call.of("a").withAttribute("is", true)).contains("{\"is\":true}"));
    assertThrows(
        IllegalArgumentException.class, () -> Call.of("a").withAttribute("list", List.of()));
  }

  @Test
  void call_withoutOrWithTwoCallers_isRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () -> new Call(null, null, null, null, 1, null, null, Map.of()));
    assertThrows(
        IllegalArgumentException.class,
        () -> new Call("acme", "weir_key", null, null, 1, null, null, Map.of()));
  }

  @Test
  void costBelowOne_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> Call.of("acme").withCost(0));
  }

  @Test
  void unpairedSurrogate_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> Call.of("acme\ud800"));
    assertThrows(
        IllegalArgumentException.class, () -> Call.of("acme").withAttribute("a", "\udc00"));
  }

  @Test
  void toString_doesNotTellTheKey() {
    assertFalse(Call.ofApiKey("weir_secret").toString().contains("secret"));
    assertTrue(Call.of("acme").toString().contains("acme"));
  }

  @Test
  void ids_areUuidsOfVersionSeven_withTheTime_andDiffer() {
    Instant now = Instant.parse("2026-11-21T14:03:07.123Z");
    CallIds ids = new CallIds(Clock.fixed(now, ZoneOffset.UTC));
    Set<String> made = new HashSet<>();
    for (int i = 0; i < 1_000; i++) {
      UUID id = UUID.fromString(ids.next());
      assertEquals(7, id.version());
      assertEquals(2, id.variant());
      assertEquals(now.toEpochMilli(), id.getMostSignificantBits() >>> 16);
      made.add(id.toString());
    }

    assertEquals(1_000, made.size());
  }
}
