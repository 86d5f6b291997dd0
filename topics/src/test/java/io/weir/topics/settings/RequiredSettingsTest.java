// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.settings;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import org.junit.jupiter.api.Test;

final class RequiredSettingsTest {
  private static final Map<String, String> MEANINGS =
      Map.of("WEIR_B", "the other", "WEIR_A", "one");

  @Test
  void requireAll_severalMissing_namesThemAll() {
    Settings.InvalidSettingException refused =
        assertThrows(
            Settings.InvalidSettingException.class,
            () -> Settings.of(Map.of("WEIR_B", "")).requireAll(MEANINGS));

    assertEquals(
        "WEIR_A is not set; set it to one\n      WEIR_B is not set; set it to the other",
        refused.getMessage());
  }

  @Test
  void requireAll_nothingMissing_isSilent() {
    assertDoesNotThrow(
        () -> Settings.of(Map.of("WEIR_A", "1", "WEIR_B", "2")).requireAll(MEANINGS));
  }
}
