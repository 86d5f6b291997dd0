// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class JsonTreeTest {
  private static final List<String> SCALARS =
      List.of(
          "null",
          "true",
          "false",
          "0",
          "-0",
          "17",
          "-9223372036854775808",
          "123456789012345678901234567890",
          "1.10",
          "-2.5e3",
          "1E-7",
          "\"\"",
          "\"off\"",
          "\"1.10\"",
          "\"a \\\"quoted\\\" \\u00e9 \\ud83d\\ude00 \\\\\"",
          "\"PT1H\"");

  @Test
  void ifJson_returnsTheTreeOfYaml() throws Exception {
    Random random = new Random(37);
    for (int i = 0; i < 2_000; i++) {
      String text = "{\"root\": " + value(random, 4) + "}";

      assertEquals(YamlTree.of("---\n" + text), JsonTree.ifJson(text), text);
    }
  }

  private static String value(Random random, int depth) {
    StringBuilder text = new StringBuilder();
    int members = random.nextInt(4);
    switch (depth == 0 ? 2 : random.nextInt(4)) {
      case 0 -> {
        for (int i = 0; i < members; i++) {
          text.append(i == 0 ? "" : ", ").append(value(random, depth - 1));
        }
        return "[" + text + "]";
      }
      case 1 -> {
        for (int i = 0; i < members; i++) {
          String key = random.nextBoolean() ? "<<" + i : "1.1" + i;
          text.append(i == 0 ? "\"" : ", \"").append(key).append("\" : ");
          text.append(value(random, depth - 1));
        }
        return "{" + text + "}";
      }
      default -> {
        return SCALARS.get(random.nextInt(SCALARS.size()));
      }
    }
  }

  @Test
  void ifJson_equalMappings_areTheSameObject() {
    JsonNode tree = JsonTree.ifJson("{\"a\": {\"x\": [1]}, \"b\": {\"x\": [1]}}");

    assertNotNull(tree);

    assertSame(tree.path("a"), tree.path("b"));
  }

  /** Regression: Jackson's symbol table threw an exception that named an internal error. */
  @Test
  void ifJson_namesWithEqualHashCodes_areRead() {
    StringBuilder text = new StringBuilder("{");
    for (int i = 0; i < 1 << 14; i++) {
      text.append(i == 0 ? "\"" : ",\"");
      for (int bit = 0; bit < 14; bit++) {
        text.append((i >> bit & 1) == 0 ? "Bb" : "CA");
      }
      text.append("\":1");
    }

    JsonNode tree = JsonTree.ifJson(text + "}");

    assertNotNull(tree);
    assertEquals(1 << 14, tree.size());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " {}",
        "{} {}",
        "{a: 1}",
        "{\"a\": 1, \"a\": 2}",
        "{\"a\": 1",
        "{\"a\": 1} # comment",
        "{\"a\": NaN}",
        "[{}]"
      })
  void ifJson_otherText_isLeftToYaml(String text) {
    assertNull(JsonTree.ifJson(text));
  }

  @Test
  void ifJson_beyondALimit_isLeftToYamlWhichNamesIt() {
    String deep = "{\"a\": " + "[".repeat(60) + "]".repeat(60) + "}";
    String number = "{\"a\": " + "1".repeat(101) + "}";

    assertNull(JsonTree.ifJson(deep));
    assertNull(JsonTree.ifJson(number));
    List<String> problems = PolicyYaml.invalid(deep);
    assertTrue(problems.get(0).contains("nested more than 50 deep"), problems.toString());
  }
}
