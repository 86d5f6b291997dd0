// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.gate.Durability;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class IngestConfigTest {
  private static final Map<String, String> LEAST =
      Map.of("WEIR_KAFKA", "127.0.0.1:9092", "WEIR_REDIS", "redis://127.0.0.1:6379");

  @Test
  void of_requiredVariablesOnly_takesTheDocumentedDefaults() {
    IngestConfig config = IngestConfig.of(LEAST);

    assertEquals(8080, config.httpPort());
    assertEquals(1, config.nodes());
    assertEquals(Durability.JOURNALED, config.durability());
    assertEquals(250, config.redis().deadline().toMillis());
    assertEquals(20_000, config.correctionsMaxRate());
    assertEquals(5, config.stopDelay().toSeconds());
    assertEquals(75, config.keepAlive().toSeconds());
  }

  @Test
  void of_wrongVariable_isNamed() {
    for (Map.Entry<String, String> wrong :
        Map.ofEntries(
                Map.entry("WEIR_KAFKA", ""),
                Map.entry("WEIR_REDIS", "127.0.0.1:6379"),
                Map.entry("WEIR_HTTP_PORT", "70000"),
                Map.entry("WEIR_NODE", "a b"),
                Map.entry("WEIR_NODES", "0"),
                Map.entry("WEIR_DURABILITY", "hoped"),
                Map.entry("WEIR_WHEN_FULL", "wait"),
                Map.entry("WEIR_DECISION_DEADLINE", "20ms"),
                Map.entry("WEIR_JOURNAL_MAX_BYTES", "4 GiB"),
                Map.entry("WEIR_CORRECTIONS_MAX_RATE", "0"),
                Map.entry("WEIR_MAX_CALLS_UNDER_WAY", "0"),
                Map.entry("WEIR_QUEUE_DELAY_TARGET", "PT11S"),
                Map.entry("WEIR_MAX_CONNECTIONS", "0"),
                Map.entry("WEIR_KEEP_ALIVE", "PT0.5S"),
                Map.entry("WEIR_STOP_DELAY", "PT11M"),
                Map.entry("WEIR_ADMIN_HOSTS", "weir.example,http://weir.example"),
                Map.entry("WEIR_REDIS_EVICTION", "ignore"))
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
  void of_adminHosts_areNamesInLowerCase() {
    Map<String, String> environment = new HashMap<>(LEAST);
    environment.put("WEIR_ADMIN_HOSTS", "Weir.Example, limits.internal,");

    assertEquals(
        Set.of("weir.example", "limits.internal"), IngestConfig.of(environment).adminHosts());
    environment.put("WEIR_ADMIN_HOSTS", "weir.example:8080");
    assertThrows(InvalidSettingException.class, () -> IngestConfig.of(environment));
  }

  @Test
  void of_nodes_isReadAndShown() {
    Map<String, String> environment = new HashMap<>(LEAST);
    environment.put("WEIR_NODES", "1000");

    assertEquals(1_000, IngestConfig.of(environment).nodes());
    assertTrue(IngestConfig.of(environment).toString().contains(" nodes=1000 "));
    environment.put("WEIR_NODES", "1001");
    assertThrows(InvalidSettingException.class, () -> IngestConfig.of(environment));
  }

  @Test
  void toString_neverShowsThePassword() {
    Map<String, String> environment = new HashMap<>(LEAST);
    environment.put("WEIR_REDIS", "redis://user:hunter2@127.0.0.1:6379");

    assertFalse(IngestConfig.of(environment).toString().contains("hunter2"));
  }

  @Test
  void toString_passwordWithSlashesAndSigns_isNotShown() {
    for (String password :
        List.of("hunter2", "p@hunter2", "p/hunter2", "a/b@hunter2", "%40hunter2")) {
      Map<String, String> environment = new HashMap<>(LEAST);
      environment.put("WEIR_REDIS", "redis://user:" + password + "@127.0.0.1:6379");

      String shown = IngestConfig.of(environment).toString();
      assertFalse(shown.contains("hunter2"), shown);
      assertTrue(shown.contains("redis://***@127.0.0.1:6379"), shown);
    }
  }

  @Test
  void of_redisUriThatIsWrong_isRefusedWithItsNameAndWithoutThePassword() {
    for (String uri :
        List.of(
            "user:hunter2@127.0.0.1:6379",
            "http://user:p/hunter2@127.0.0.1:6379",
            "redis://user:hunter2",
            "redis://user:hunter2@",
            "redis://user:hunter2@127.0.0.1:port",
            "redis://user:hunter2@127.0.0.1:99999",
            "redis://user:hunter2@127.0.0.1/first",
            "redis://user:50%hunter2@127.0.0.1:6379",
            "redis:///hunter2")) {
      Map<String, String> environment = new HashMap<>(LEAST);
      environment.put("WEIR_REDIS", uri);

      InvalidSettingException refused =
          assertThrows(InvalidSettingException.class, () -> IngestConfig.of(environment), uri);
      StringWriter trace = new StringWriter();
      refused.printStackTrace(new PrintWriter(trace));
      assertTrue(String.valueOf(refused.getMessage()).startsWith("WEIR_REDIS "));
      assertFalse(trace.toString().contains("hunter2"), trace.toString());
    }
  }
}
