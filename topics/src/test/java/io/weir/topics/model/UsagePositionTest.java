// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import org.junit.jupiter.api.Test;

final class UsagePositionTest {
  @Test
  void parse_writtenForm_isTheSame() {
    UsagePosition position = new UsagePosition(3, "node-a", 1_763_690_000_000L, 57);

    assertEquals("3:node-a:1763690000000:57", position.toString());
    assertEquals(position, UsagePosition.parse(position.toString()));
  }

  @Test
  void parse_anythingElse_isNull() {
    for (String text :
        List.of(
            "",
            "3",
            "3:a:1",
            "x:a:1:1",
            "3:a b:1:1",
            "3:a:1:0",
            "3:a:1:1:1",
            "3:a:1:٣",
            "3:a:1:+1")) {
      assertNull(UsagePosition.parse(text), text);
    }
  }
}
