// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.ClientCalendar;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class ApiKeysTest {
  private static final int SEEDS = 2_000;

  /** Checks the test vectors of FIPS 180-4, and a key with characters outside ASCII. */
  @Test
  void hash_isTheSha256OfTheKeyInUtf8() {
    assertEquals(
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ApiKeyHash.of("abc").toString());
    assertEquals(
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ApiKeyHash.of("").toString());
    assertEquals(
        "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c",
        ApiKeyHash.of("é").toString());
  }

  @Test
  void hash_readsAsItIsWritten() {
    String digits = "000000000000000f80000000000000007fffffffffffffff0123456789abcdef";
    assertEquals(digits, ApiKeyHash.parse(digits).toString());
    for (String wrong :
        List.of(
            "", digits + "0", digits.substring(1), digits.toUpperCase(Locale.ROOT), " " + digits)) {
      assertThrows(IllegalArgumentException.class, () -> ApiKeyHash.parse(wrong));
    }
  }

  @Test
  void key_expiresAtTheInstant_notBefore() {
    ApiKey key = new ApiKey("k", ApiKeyHash.of("a"), 1_000);
    assertFalse(key.isExpired(999));
    assertTrue(key.isExpired(1_000));
    assertTrue(key.isExpired(1_001));
    assertFalse(new ApiKey("k", ApiKeyHash.of("a"), ApiKey.NEVER).isExpired(Long.MAX_VALUE));
  }

  @Test
  void id_isShortAndPlain_andNoKey() {
    assertTrue(ApiKey.isId("a"));
    assertTrue(ApiKey.isId("x".repeat(64)));
    for (String wrong : List.of("", "x".repeat(65), "a b", "a/b", "ä", "a\n", "weir_x")) {
      assertFalse(ApiKey.isId(wrong), wrong);
    }
  }

  /**
   * Compares the map with a search through all settings, and the repeated hashes with a loop over
   * all pairs.
   */
  @Test
  void find_isWhatASearchFinds() {
    int found = 0;
    int repeated = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      Map<String, ClientSettings> settings = settings(random);
      ApiKeys keys = ApiKeys.of(settings);
      List<ApiKeys.Repeated> pairs = pairs(settings);
      assertEquals(pairs, ApiKeys.repeated(settings), "seed " + seed);
      repeated += pairs.size();
      for (int i = 0; i < 12 && pairs.isEmpty(); i++) {
        ApiKeyHash asked = hash(random);
        ApiKeys.Owned owned = keys.find(asked);
        assertEquals(search(settings, asked), owned, "seed " + seed);
        found += owned == null ? 0 : 1;
      }
    }
    assertTrue(found > SEEDS, "too few to tell: " + found);
    assertTrue(repeated > SEEDS / 10, "too few to tell: " + repeated);
  }

  private static Map<String, ClientSettings> settings(Random random) {
    Map<String, ClientSettings> settings = new HashMap<>();
    for (int client = random.nextInt(4); client >= 0; client--) {
      List<ApiKey> keys = new ArrayList<>();
      for (int i = random.nextInt(3); i > 0; i--) {
        keys.add(new ApiKey("k" + i, hash(random), random.nextInt(5)));
      }
      settings.put(
          "c" + client, new ClientSettings(ClientCalendar.OF_POLICY, null, Map.of(), keys));
    }
    return settings;
  }

  /** Returns one of a few hashes. Some of them differ in only one component. */
  private static ApiKeyHash hash(Random random) {
    long[] parts = new long[4];
    parts[random.nextInt(4)] = random.nextInt(5);
    return new ApiKeyHash(parts[0], parts[1], parts[2], parts[3]);
  }

  private static ApiKeys.@Nullable Owned search(
      Map<String, ClientSettings> settings, ApiKeyHash asked) {
    for (Map.Entry<String, ClientSettings> own : settings.entrySet()) {
      for (ApiKey key : own.getValue().apiKeys()) {
        if (key.sha256().toString().equals(asked.toString())) {
          return new ApiKeys.Owned(own.getKey(), key);
        }
      }
    }
    return null;
  }

  private static List<ApiKeys.Repeated> pairs(Map<String, ClientSettings> settings) {
    List<String> places = new ArrayList<>();
    List<ApiKeys.Repeated> repeated = new ArrayList<>();
    for (Map.Entry<String, ClientSettings> own : new TreeMap<>(settings).entrySet()) {
      List<ApiKey> keys = own.getValue().apiKeys();
      for (int i = 0; i < keys.size(); i++) {
        String digits = keys.get(i).sha256().toString();
        for (String place : places) {
          String[] words = place.split(" ", -1);
          if (words[0].equals(digits)) {
            repeated.add(
                new ApiKeys.Repeated(own.getKey(), i, words[1], Integer.parseInt(words[2])));
            break;
          }
        }
        places.add(digits + " " + own.getKey() + " " + i);
      }
    }
    return repeated;
  }

  @Test
  void matcher_hasTheKeysOfItsSetOnly() {
    ApiKey key = new ApiKey("k", ApiKeyHash.of("a"), ApiKey.NEVER);
    Clients clients =
        new Clients(
            Map.of(
                "acme", new ClientSettings(ClientCalendar.OF_POLICY, null, Map.of(), List.of(key))),
            Map.of(),
            null,
            UnknownClients.ALLOW);
    PolicyMatcher matcher = PolicyMatcher.of(new PolicySet(1, List.of(), clients));

    assertEquals(new ApiKeys.Owned("acme", key), matcher.apiKeys().find(ApiKeyHash.of("a")));
    assertNull(matcher.apiKeys().find(ApiKeyHash.of("b")));
    assertNull(PolicyMatcher.of(PolicySet.EMPTY).apiKeys().find(ApiKeyHash.of("a")));
    assertNotEquals(ApiKeyHash.of("a"), ApiKeyHash.of("A"));
  }
}
