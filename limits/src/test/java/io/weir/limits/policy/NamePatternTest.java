// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class NamePatternTest {
  private static boolean fits(String pattern, String name) {
    return NamePattern.of(pattern).matches(name);
  }

  @Test
  void matches_eachKindOfPattern_fitsAsDocumented() {
    assertTrue(fits("*", ""));
    assertTrue(fits("**", "anything"));
    assertTrue(fits("GET /v1/items", "GET /v1/items"));
    assertFalse(fits("GET /v1/items", "GET /v1/item"));
    assertTrue(fits("GET /v1/*", "GET /v1/"));
    assertFalse(fits("GET /v1/*", "GET /v1"));
    assertTrue(fits("*/items", "GET /v1/items"));
    assertTrue(fits("GET /*/items/*", "GET /v1/items/7"));
    assertFalse(fits("GET /*/items/*", "GET /v1/item/7"));
  }

  @Test
  void matches_startAndEndWouldOverlap_doesNotFit() {
    assertFalse(fits("aba*aba", "aba"));
    assertFalse(fits("ab*ba", "aba"));
    assertTrue(fits("ab*ba", "abba"));
  }

  @Test
  void matches_charactersOfRegularExpressions_areLiteral() {
    assertTrue(fits("a.c?*", "a.c?d"));
    assertFalse(fits("a.c*", "abc"));
  }

  @Test
  void matches_patternThatMakesRegularExpressionsBacktrack_ends() {
    String pattern = "*a".repeat(100) + "*b";
    // with backtracking, the match would take longer than the age of the universe
    assertTimeoutPreemptively(Await.TIMEOUT, () -> assertFalse(fits(pattern, "a".repeat(256))));
  }

  @Test
  void matches_randomPatterns_agreesWithARegularExpression() {
    Random random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      String pattern = text(random, "ab*", 6);
      String name = text(random, "ab", 8);
      boolean expected = Pattern.matches(pattern.replace("*", ".*"), name);
      assertEquals(expected, fits(pattern, name), () -> pattern + " on " + name + ", seed 7");
    }
  }

  private static String text(Random random, String letters, int maxLength) {
    StringBuilder text = new StringBuilder();
    for (int length = random.nextInt(maxLength + 1); length > 0; length--) {
      text.append(letters.charAt(random.nextInt(letters.length())));
    }
    return text.toString();
  }
}
