// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The defaults of parameters that are omitted. */
final class UsageQueryTest {
  private static final Instant NOW = Instant.parse("2026-11-21T23:30:00Z");
  private static final Instant MIDNIGHT = Instant.parse("2026-11-21T00:00:00Z");

  private static Instant from(Map<String, List<String>> given, Duration atom) {
    return UsageQuery.of(given, atom, NOW).from();
  }

  @Test
  void from_leftOut_isMidnight() {
    assertEquals(MIDNIGHT, from(Map.of("client", List.of("acme")), Duration.ofMinutes(1)));
  }

  @Test
  void from_omittedWithTooManyWindowsToday_isTheMaximumSpanAgo() {
    assertEquals(
        NOW.minusSeconds(80_000), from(Map.of("client", List.of("acme")), Duration.ofSeconds(2)));
  }

  @Test
  void from_leftOutWithAWindow_isMidnight() {
    Map<String, List<String>> daily = Map.of("client", List.of("acme"), "window", List.of("P1D"));

    assertEquals(MIDNIGHT, from(daily, Duration.ofSeconds(2)));
  }
}
