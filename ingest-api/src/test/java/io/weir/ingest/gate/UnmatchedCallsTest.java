// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;

final class UnmatchedCallsTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final UnmatchedCalls calls = new UnmatchedCalls(registry);

  private double counted(String prefix) {
    return registry.get("weir.checks.unmatched").tag("endpoint_prefix", prefix).counter().count();
  }

  @Test
  void endpoints_areCountedByAllBeforeTheSecondSlash() {
    calls.count("GET /v1/items/7");
    calls.count("GET /v1");
    calls.count("/v1/items");
    calls.count("-");

    assertEquals(2, counted("GET /v1"));
    assertEquals(1, counted("/v1"));
    assertEquals(1, counted("-"));
  }

  @Test
  void manyPrefixes_areCountedTogetherFromTheTwentyFirst() {
    for (int i = 0; i < UnmatchedCalls.MAX_PREFIXES + 7; i++) {
      calls.count("GET /" + i + "/items");
    }
    calls.count("GET /0/others");

    assertEquals(2, counted("GET /0"));
    assertEquals(7, counted(UnmatchedCalls.OTHER));
    assertEquals(UnmatchedCalls.MAX_PREFIXES + 1, registry.getMeters().size());
  }
}
