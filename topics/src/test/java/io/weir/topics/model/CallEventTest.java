// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

final class CallEventTest {
  @Test
  void quantity_ofADeniedCall_isZero() {
    assertEquals(7, call("id", 7, true).quantity());
    assertEquals(0, call("id", 7, false).quantity());
  }

  @Test
  void quantity_ofASettlement_isTheSignedDifference() {
    assertEquals(4, settled(8, 12).quantity());
    assertEquals(-5, settled(8, 3).quantity());
    assertEquals(-8, settled(8, 0).quantity());
  }

  @Test
  void settledAt_aDeniedCall_isRefused() {
    CallSettlement settlement = new CallSettlement(1, 6);

    assertThrows(IllegalArgumentException.class, () -> call("id", 8, false).settledAt(settlement));
  }

  private static CallEvent settled(long cost, long actualCost) {
    return call("id", cost, true).settledAt(new CallSettlement(actualCost, 6));
  }

  private static CallEvent call(String id, long cost, boolean allowed) {
    return new CallEvent(
        id,
        false,
        "acme",
        "-",
        "calls",
        cost,
        allowed,
        DecidedBy.CACHE,
        "p",
        1,
        5,
        null,
        List.of());
  }
}
