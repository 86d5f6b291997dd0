// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class ZoneDataTest {
  @Test
  void version_isNamedByIana() {
    assertTrue(ZoneData.version().matches("20\\d\\d[a-z]+"), ZoneData.version());
  }

  @Test
  void warning_versionOlderThanAYear_namesIt() {
    assertEquals(
        Optional.empty(), ZoneData.warning("2025a", Instant.parse("2026-06-30T23:59:59Z")));
    String sentence =
        ZoneData.warning("2025a", Instant.parse("2026-07-01T00:00:00Z")).orElseThrow();
    assertTrue(sentence.contains("2025a, are older than one year"), sentence);
    assertEquals(
        Optional.empty(), ZoneData.warning("custom", Instant.parse("2099-01-01T00:00:00Z")));
  }
}
