// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

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
  void keys_longestNames_areBoundedAscii() {
    for (String name : NAMES) {
      String key = BucketKeys.ofClientAndEndpoint(name, name, name);
      assertTrue(key.length() <= BucketKeys.MAX_CHARS, key);
      assertTrue(key.chars().allMatch(c -> c >= 0x20 && c < 0x7f), key);
    }
  }
}
