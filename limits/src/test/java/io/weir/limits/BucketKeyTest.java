// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

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

class BucketKeyTest {
  /** Names that are difficult for key formats. */
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
    assertEquals("w1:{4:acme}:5:burst", BucketKey.of("burst", "acme").text());
    assertEquals(
        "w1:{4:acme}:5:burst:13:GET /v1/items",
        BucketKey.of("burst", "acme", "GET /v1/items").text());
  }

  @Test
  void of_differentNames_neverShareAKey() {
    Map<String, String> owners = new HashMap<>();
    for (String client : NAMES) {
      for (String policy : NAMES) {
        assertFirst(owners, BucketKey.of(policy, client).text(), List.of(client, policy));
        for (String endpoint : NAMES) {
          assertFirst(
              owners,
              BucketKey.of(policy, client, endpoint).text(),
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
  void of_anyNames_hashTagDependsOnTheClientAlone() {
    for (String client : NAMES) {
      String tag = tag(BucketKey.of("burst", client).text());
      for (String name : NAMES) {
        assertEquals(tag, tag(BucketKey.of(name, client, name).text()));
      }
    }
    assertNotEquals(
        tag(BucketKey.of("burst", "{a}").text()), tag(BucketKey.of("burst", "a").text()));
  }

  /**
   * Returns the part of a key that Redis Cluster hashes: from the first opening brace to the next
   * closing brace.
   */
  private static String tag(String key) {
    int open = key.indexOf('{');
    String tag = key.substring(open + 1, key.indexOf('}', open));
    assertTrue(!tag.isEmpty(), key);
    return tag;
  }

  @Test
  void clientAndPolicy_ofAnyKey_areTheNamesItWasMadeFrom() {
    for (String client : NAMES) {
      for (String policy : NAMES) {
        String key = BucketKey.of(policy, client, "GET /v1/{item}:}:").text();
        for (String each : List.of(key, BucketKey.parse(key).in(1_764_547_200).text())) {
          assertEquals(named(client), BucketKey.parse(each).client().shown());
          assertEquals(named(policy), BucketKey.parse(each).policy().shown());
        }
        assertEquals(named(policy), BucketKey.of(policy, client).policy().shown());
      }
    }
  }

  @Test
  void parse_textOfAnyKey_isTheKey() {
    for (String client : NAMES) {
      for (String policy : NAMES) {
        for (BucketKey key :
            List.of(
                BucketKey.of(policy, client),
                BucketKey.of(policy, client, client),
                BucketKey.of(policy, client).in(1_764_547_200),
                BucketKey.of(policy, client, policy).in(7))) {
          assertEquals(key, BucketKey.parse(key.text()));
          assertTrue(key.text().length() <= BucketKey.MAX_CHARS);
        }
      }
    }
  }

  /** Returns a name as it appears in a key: unchanged or hashed. */
  private static String named(String name) {
    BucketKey.Part part = BucketKey.Part.of(name);
    return part.isHashed() ? part.keyText() : name;
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
        "w2:{4:acme}:5:burst",
        "w1:{02:a}:5:burst",
        "w1:{2:a}:5:burst",
        "w1:{\u0664:acme}:5:burst",
        "w1:{4:acme}:\u0665:burst",
        "w1:{4:acme}:05:burst",
        "w1:{4:acme}:0:",
        "w1:{4:acme}:5:burst:x",
        "w1:{4:acme}:5:burst@soon",
        "w1:{4:acme}:5:burst@+5",
        "w1:{4:acme}:5:burst@02",
        "w1:{4:acme}:5:burst@0",
        "w1:{4:acme}:5:burst@-5",
      })
  void policyPart_otherKeys_areRefused(String key) {
    assertThrows(IllegalArgumentException.class, () -> BucketKey.parse(key).policy().shown());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "acme", "w1:{", "w1:{acme}:5:burst", "w1:{99:acme}:", "w2:{4:acme}:"})
  void clientPart_otherKeys_areRefused(String key) {
    assertThrows(IllegalArgumentException.class, () -> BucketKey.parse(key).client().shown());
  }

  @Test
  void keys_longestNames_areBoundedAscii() {
    for (String name : NAMES) {
      String key = BucketKey.of(name, name, name).text();
      assertTrue(key.length() <= BucketKey.MAX_CHARS, key);
      assertTrue(key.chars().allMatch(c -> c >= 0x20 && c < 0x7f), key);
    }
  }

  @Test
  void ownerOf_isTheClient_orThePolicyWhoseBucketsClientsShare() {
    for (String[] each :
        new String[][] {
          {"w1:{4:acme}:5:burst", "w1:{4:acme"},
          {"w1:{4:acme}:5:burst|203.0.113.9/32@1764547200", "w1:{4:acme"},
          {"w1:{*5:burst|203.0.113.9/32}@1764547200", "w1:{*5:burst"},
          {"w1:{*3:a|b:1:x}", "w1:{*3:a|b"},
          {"w1:{*}", "w1:{*}"},
          {"foreign", "foreign"}
        }) {
      assertEquals(each[1], BucketKey.ownerOf(each[0]));
    }
  }
}
