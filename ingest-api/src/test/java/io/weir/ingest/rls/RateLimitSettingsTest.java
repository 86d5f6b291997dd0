// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.access.AccessSettings;
import io.weir.topics.settings.Settings;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class RateLimitSettingsTest {
  private static RateLimitSettings read(Map<String, String> variables) {
    Settings settings = Settings.of(variables);
    return RateLimitSettings.of(settings, AccessSettings.of(settings));
  }

  @Test
  void port_thatIsNotSet_isNone() {
    assertEquals(RateLimitSettings.OFF, read(Map.of()));
    assertEquals("off client_keys=", read(Map.of()).toString());
  }

  @Test
  void host_isThisMachineWithoutTokens() {
    RateLimitSettings settings =
        read(Map.of("WEIR_GRPC_PORT", "0", "WEIR_RLS_CLIENT_KEYS", "user_id, tenant"));

    assertEquals(new RateLimitSettings("127.0.0.1", 0, List.of("user_id", "tenant")), settings);
    assertRefused("WEIR_GRPC_HOST is 0.0.0.0", "WEIR_GRPC_PORT", "1", "WEIR_GRPC_HOST", "0.0.0.0");
    assertEquals(
        "0.0.0.0", read(Map.of("WEIR_GRPC_PORT", "1", "WEIR_UNPROTECTED", "allow")).host());
  }

  @Test
  void wrongValues_areRefusedByTheVariablesName() {
    assertRefused("WEIR_GRPC_PORT must be", "WEIR_GRPC_PORT", "70000", "WEIR_GRPC_HOST", "");
    assertRefused(
        "WEIR_RLS_CLIENT_KEYS must be keys of descriptor entries, separated by commas; the key '' must not"
            + " be empty",
        "WEIR_RLS_CLIENT_KEYS",
        "a,,b",
        "WEIR_GRPC_HOST",
        "");
  }

  private static void assertRefused(
      String start, String variable, String value, String other, String otherValue) {
    Settings.InvalidSettingException refused =
        assertThrows(
            Settings.InvalidSettingException.class,
            () -> read(Map.of(variable, value, other, otherValue)));
    String message = String.valueOf(refused.getMessage());
    assertTrue(message.startsWith(start), message);
  }
}
