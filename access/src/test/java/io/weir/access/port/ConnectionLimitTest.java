// SPDX-License-Identifier: Apache-2.0
package io.weir.access.port;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

final class ConnectionLimitTest {
  @Test
  void withinOpenFiles_leavesTwoThirdsOfTheOpenFilesToOthers() {
    assertEquals(10_000, ConnectionLimit.withinOpenFiles(10_000, 1_048_576));
    assertEquals(10_000, ConnectionLimit.withinOpenFiles(10_000, 30_000));
    assertEquals(833, ConnectionLimit.withinOpenFiles(10_000, 2_500));
    assertEquals(1, ConnectionLimit.withinOpenFiles(10_000, 2));
    assertEquals(50, ConnectionLimit.withinOpenFiles(50, 2_500));
  }
}
