// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.policy.CacheFailureMode;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class SettingsTest {
  @Test
  void values_unsetOrEmpty_takeTheDefault() {
    Settings settings = Settings.of(Map.of("EMPTY", ""));

    assertEquals("x", settings.text("EMPTY", "x"));
    assertEquals(8080, settings.port("UNSET", 8080));
    assertEquals(CacheFailureMode.OPEN, settings.choice("UNSET", CacheFailureMode.OPEN));
  }

  @Test
  void values_wrong_nameTheVariableTheRuleAndTheValue() {
    Settings settings = Settings.of(Map.of("PORT", "99999", "WAIT", "5s", "MODE", "ajar"));

    assertMessage(() -> settings.port("PORT", 1), "PORT", "65535", "99999");
    assertMessage(
        () -> settings.duration("WAIT", Duration.ZERO, Duration.ZERO, Duration.ofHours(1)),
        "WAIT",
        "ISO 8601",
        "5s");
    assertMessage(
        () -> settings.choice("MODE", CacheFailureMode.OPEN), "MODE", "open, closed", "ajar");
    assertMessage(() -> settings.required("NONE", "a server"), "NONE", "not set", "a server");
  }

  private static void assertMessage(Runnable read, String... parts) {
    Settings.InvalidSettingException refused =
        assertThrows(Settings.InvalidSettingException.class, read::run);
    for (String part : parts) {
      assertTrue(String.valueOf(refused.getMessage()).contains(part), part);
    }
  }
}
