// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the start and the end of lines. */
final class BatchLinesTest {
  private final BatchLines lines = new BatchLines();

  @Test
  void lineFeed_endsALine_andTheLastOneMayLackIt() {
    assertLines("", List.of());
    assertLines("\n", List.of(""));
    assertLines("a", List.of("a"));
    assertLines("a\n", List.of("a"));
    assertLines("a\nb", List.of("a", "b"));
    assertLines("a\n\nbc\n\n", List.of("a", "", "bc", ""));
  }

  @Test
  void manyLines_areFound_andForgottenWithTheNextValue() {
    assertEquals(10_000, lines.find("ab\n".repeat(10_000).getBytes(StandardCharsets.UTF_8)));
    assertEquals(3 * 9_999, lines.start(10_000));
    assertEquals(3 * 9_999 + 2, lines.end(10_000));

    assertLines("x\n", List.of("x"));
  }

  private void assertLines(String value, List<String> expected) {
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    assertEquals(expected.size(), lines.find(bytes), value);
    assertEquals(expected.size(), lines.count(), value);
    for (int line = 1; line <= expected.size(); line++) {
      int start = lines.start(line);
      String found = new String(bytes, start, lines.end(line) - start, StandardCharsets.UTF_8);
      assertEquals(expected.get(line - 1), found, value);
    }
    assertEquals(
        expected,
        BatchLines.split(bytes).stream()
            .map(line -> new String(line, StandardCharsets.UTF_8))
            .toList());
  }

  @Test
  void joinedLines_areTheSameWhenTheyAreSplit() {
    byte[] value = BatchLines.join(List.of(new byte[] {'a'}, new byte[0], new byte[] {'b', 'c'}));

    assertEquals("a\n\nbc\n", new String(value, StandardCharsets.UTF_8));
    assertLines("a\n\nbc\n", List.of("a", "", "bc"));
  }
}
