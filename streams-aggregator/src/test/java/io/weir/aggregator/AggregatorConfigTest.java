// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class AggregatorConfigTest {
  @Test
  void of_kafkaAlone_takesTheDefaults() {
    AggregatorConfig config = AggregatorConfig.of(Map.of("WEIR_KAFKA", "kafka:9092"));

    assertEquals(Duration.ofMinutes(15), config.window());
    assertEquals(Duration.ofMinutes(10), config.grace());
    assertEquals(8081, config.reportsPort());
    assertEquals("aggregator", config.instance());
    assertEquals(Duration.ofSeconds(10), config.sessionTimeout());
    assertEquals(1_000, config.countSettings().maxEndpoints());
    assertEquals(12, config.rankedWindows());
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT6S", "PT5M"})
  void of_sessionTimeoutAtItsBounds_isTaken(String value) {
    AggregatorConfig config =
        AggregatorConfig.of(Map.of("WEIR_KAFKA", "kafka:9092", "WEIR_SESSION_TIMEOUT", value));

    assertEquals(Duration.parse(value), config.sessionTimeout());
  }

  @ParameterizedTest
  @CsvSource({
    "WEIR_KAFKA,''",
    "WEIR_REPORTS_PORT,70000",
    "WEIR_REPORTS_PORT,http",
    "WEIR_WINDOW,PT7M",
    "WEIR_WINDOW,PT0S",
    "WEIR_WINDOW,15m",
    "WEIR_GRACE,-PT1S",
    "WEIR_MAX_HOLD,PT0S",
    "WEIR_LATENESS,P36D",
    "WEIR_LATENESS,PT1M",
    "WEIR_STREAM_THREADS,0",
    "WEIR_STANDBYS,-1",
    "WEIR_MAX_ENDPOINTS,0",
    "WEIR_MAX_ENDPOINTS,100001",
    "WEIR_MAX_ENDPOINTS,all",
    "WEIR_RANKED_WINDOWS,-1",
    "WEIR_RANKED_WINDOWS,401",
    "WEIR_INSTANCE,a/b",
    "WEIR_SESSION_TIMEOUT,PT5.999S",
    "WEIR_SESSION_TIMEOUT,PT5M0.001S",
    "WEIR_SESSION_TIMEOUT,-PT10S",
    "WEIR_SESSION_TIMEOUT,10s",
    "WEIR_ADVERTISED_REPORTS,here",
  })
  void of_badValue_isRefusedByName(String variable, String value) {
    Map<String, String> environment = new HashMap<>(Map.of("WEIR_KAFKA", "kafka:9092"));
    environment.put(variable, value);

    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> AggregatorConfig.of(environment));

    assertTrue(String.valueOf(refused.getMessage()).startsWith(variable), refused::getMessage);
  }
}
