// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class ClaimPathTest {
  private static final Map<String, ?> CLAIMS =
      Map.of(
          "sub", "acme",
          "org.id", "by-name",
          "org", Map.of("id", "nested", "a/b", Map.of("~c", 7L)),
          "https://example.com/plan", "gold",
          "list", List.of(Map.of("id", "x")));

  private static @Nullable Object value(String path) {
    return Objects.requireNonNull(ClaimPath.parse(path)).in(CLAIMS);
  }

  @Test
  void name_isThatOfAClaim_dotsAndSlashesIncluded() {
    assertEquals("acme", value("sub"));
    assertEquals("by-name", value("org.id"));
    assertEquals("gold", value("https://example.com/plan"));
    assertNull(value("other"));
  }

  @Test
  void pointer_leadsThroughObjectsAlone() {
    assertEquals("nested", value("/org/id"));
    assertEquals(7L, value("/org/a~1b/~0c"));
    assertNull(value("/org.id/id"));
    assertNull(value("/sub/id"));
    assertNull(value("/list/0/id"));
    assertEquals("by-name", value("/org.id"));
  }

  @Test
  void textThatIsNoPath_isNone() {
    for (String text :
        List.of(
            "", "/", "//", "/a/", "/a~2", "/a~", "a b", "a,b", "a=b", "a\"b", "a\\b", "\u00e4")) {
      assertNull(ClaimPath.parse(text), text);
    }
    assertNull(ClaimPath.parse("x".repeat(129)));
    assertEquals(List.of("-+.:;<>?@[]^_`{|}~!#$%&'()*"), path("-+.:;<>?@[]^_`{|}~!#$%&'()*"));
  }

  private static List<String> path(String text) {
    return Objects.requireNonNull(ClaimPath.parse(text)).names();
  }
}
