// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BucketKeysTest {
  /** Names that have broken someone's keys. */
  private static final List<String> NAMES =
      List.of(
          "a",
          "b",
          "ab",
          "a:b",
          ":",
          "1:a",
          "a:1:b",
          "{",
          "}",
          "{}",
          "{a}",
          "}{",
          "a}",
          "{4:acme}",
          "h:",
          "*",
          " ",
          "é",
          "日本",
          "\uD83D\uDE00",
          "GET /v1/items",
          "x".repeat(64),
          "x".repeat(65),
          "x".repeat(256),
          "é".repeat(128),
          "3:a:b",
          "w1:{1:a}:1:a");

  @Test
  void ofClient_usualNames_staysReadable() {
    assertEquals("w1:{4:acme}:5:burst", BucketKeys.ofClient("burst", "acme"));
    assertEquals(
        "w1:{4:acme}:5:burst:13:GET /v1/items",
        BucketKeys.ofClientAndEndpoint("burst", "acme", "GET /v1/items"));
  }

  @Test
  void keysJoinedWithoutEscaping_differentNames_neverShareAKey() {
    Map<String, String> owners = new HashMap<>();
    for (String client : NAMES) {
      for (String policy : NAMES) {
        assertFirst(owners, BucketKeys.ofClient(policy, client), List.of(client, policy));
        for (String endpoint : NAMES) {
          assertFirst(
              owners,
              BucketKeys.ofClientAndEndpoint(policy, client, endpoint),
              List.of(client, policy, endpoint));
        }
      }
    }
  }

  private static void assertFirst(Map<String, String> owners, String key, List<String> names) {
    String other = owners.put(key, names.toString());
    assertTrue(other == null, () -> key + " belongs to " + names + " and to " + other);
  }

  @Test
  void bracesInIdsMoveTheSlot_anyNames_tagIsTheClientAlone() {
    for (String client : NAMES) {
      String tag = tag(BucketKeys.ofClient("burst", client));
      for (String name : NAMES) {
        assertEquals(tag, tag(BucketKeys.ofClientAndEndpoint(name, client, name)));
      }
    }
    assertNotEquals(
        tag(BucketKeys.ofClient("burst", "{a}")), tag(BucketKeys.ofClient("burst", "a")));
  }

  /** What Redis Cluster hashes: between the first opening brace and the next closing one. */
  private static String tag(String key) {
    int open = key.indexOf('{');
    String tag = key.substring(open + 1, key.indexOf('}', open));
    assertTrue(!tag.isEmpty(), key);
    return tag;
  }

  @Test
  void parts_anyNames_areThoseTheKeyWasMadeOf() {
    for (String client : NAMES) {
      for (String policy : NAMES) {
        String key = BucketKeys.ofClientAndEndpoint(policy, client, "GET /v1/{item}:}:");
        for (String each : List.of(key, BucketKeys.ofPeriod(key, 1_764_547_200))) {
          assertEquals(named(client), BucketKeys.clientPart(each));
          assertEquals(named(policy), BucketKeys.policyPart(each));
        }
        assertEquals(named(policy), BucketKeys.policyPart(BucketKeys.ofClient(policy, client)));
      }
    }
  }

  /** A name as the parts of a key tell it: as it is, or hashed. */
  private static String named(String name) {
    String part = BucketKeys.part(name);
    return part.startsWith("h:") ? part : name;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "acme",
        "w1:{",
        "w1:{}:",
        "w1:{4:acme",
        "w1:{4:acme}",
        "w1:{4:acme}:",
        "w1:{4:acme}:burst",
        "w1:{4:acme}:-1:burst",
        "w1:{4:acme}:6:burst",
        "w1:{4:acme}:h:short",
        "w2:{4:acme}:5:burst"
      })
  void policyPart_otherKeys_areRefused(String key) {
    assertThrows(IllegalArgumentException.class, () -> BucketKeys.policyPart(key));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "acme", "w1:{", "w1:{acme}:5:burst", "w1:{99:acme}:", "w2:{4:acme}:"})
  void clientPart_otherKeys_areRefused(String key) {
    assertThrows(IllegalArgumentException.class, () -> BucketKeys.clientPart(key));
  }

  @Test
  void keys_longestNames_areBoundedAscii() {
    for (String name : NAMES) {
      String key = BucketKeys.ofClientAndEndpoint(name, name, name);
      assertTrue(key.length() <= BucketKeys.MAX_CHARS, key);
      assertTrue(key.chars().allMatch(c -> c >= 0x20 && c < 0x7f), key);
    }
  }
}
