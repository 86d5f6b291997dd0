// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

final class NamesTest {
  @Test
  void violation_usualNames_isNull() {
    for (String name : List.of("acme", "GET /v1/items", "ü", "日本", "😀", "a{b}c", "a/b\\c\"d")) {
      assertNull(Names.violation(name), name);
    }
  }

  @Test
  void violation_countsBytesOfUtf8_asTheJdkDoes() {
    for (String part : List.of("a", "é", "€", "😀")) {
      int bytes = part.getBytes(StandardCharsets.UTF_8).length;
      int most = Names.MAX_BYTES / bytes;
      assertNull(Names.violation(part.repeat(most)), part);
      assertNotNull(Names.violation(part.repeat(most) + part), part);
    }
  }

  @Test
  void violation_controlCharactersAndBrokenUnicode_namesTheIndex() {
    assertEquals(
        "must not contain control characters (U+000A at index 1)", Names.violation("a\nb"));
    assertNotNull(Names.violation("\u0085"));
    assertNotNull(Names.violation("\u007f"));
    assertEquals(
        "must be valid Unicode (unpaired surrogate at index 0)", Names.violation("\ud800x"));
    assertNotNull(Names.violation("\udc00"));
    assertNotNull(Names.violation(""));
  }
}
