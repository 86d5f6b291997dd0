// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.gate.Durability;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class IngestConfigTest {
  private static final Map<String, String> LEAST =
      Map.of("WEIR_KAFKA", "127.0.0.1:9092", "WEIR_REDIS", "redis://127.0.0.1:6379");

  @Test
  void of_leastVariables_takesTheDocumentedDefaults() {
    IngestConfig config = IngestConfig.of(LEAST);

    assertEquals(8080, config.httpPort());
    assertEquals(Durability.JOURNALED, config.durability());
    assertEquals(20, config.redis().deadline().toMillis());
    assertEquals(20_000, config.correctionsMaxRate());
  }

  @Test
  void of_wrongVariable_isNamed() {
    for (Map.Entry<String, String> wrong :
        Map.of(
                "WEIR_KAFKA", "",
                "WEIR_REDIS", "127.0.0.1:6379",
                "WEIR_HTTP_PORT", "70000",
                "WEIR_NODE", "a b",
                "WEIR_DURABILITY", "hoped",
                "WEIR_WHEN_FULL", "wait",
                "WEIR_DECISION_DEADLINE", "20ms",
                "WEIR_JOURNAL_MAX_BYTES", "4 GiB",
                "WEIR_CORRECTIONS_MAX_RATE", "0",
                "WEIR_REDIS_EVICTION", "ignore")
            .entrySet()) {
      Map<String, String> environment = new HashMap<>(LEAST);
      environment.put(wrong.getKey(), wrong.getValue());
      InvalidSettingException refused =
          assertThrows(InvalidSettingException.class, () -> IngestConfig.of(environment));
      assertTrue(
          String.valueOf(refused.getMessage()).startsWith(wrong.getKey()), refused.getMessage());
    }
  }

  @Test
  void toString_neverShowsThePassword() {
    Map<String, String> environment = new HashMap<>(LEAST);
    environment.put("WEIR_REDIS", "redis://user:hunter2@127.0.0.1:6379");

    assertFalse(IngestConfig.of(environment).toString().contains("hunter2"));
  }
}
