// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

final class RemainsTest {
  @Test
  void lengths_areWords() {
    assertEquals("for 35 days", Remains.length(Long.toString(35 * 86_400_000L)));
    assertEquals("for PT1H", Remains.length("3600000"));
    assertEquals("for ever", Remains.length("-1"));
    assertEquals("for ever", Remains.length(Long.toString(Long.MAX_VALUE)));
    assertEquals("for ever", Remains.length(null));
  }
}
