// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

final class CallEventTest {
  @Test
  void digest_dependsOnIdCostAndVerdict() {
    long digest = call("id-1", 2, true).digest();

    assertEquals(digest, call("id-1", 2, true).digest());
    assertNotEquals(digest, call("id-2", 2, true).digest());
    assertNotEquals(digest, call("id-1", 3, true).digest());
    assertNotEquals(digest, call("id-1", 2, false).digest());
  }

  @Test
  void digest_neverChanges_sinceLedgersHoldIt() {
    assertEquals(-385939972043601251L, call("id-1", 2, true).digest());
  }

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
  void digest_ofASettlement_dependsOnTheActualCost_andIsNotTheCalls() {
    assertNotEquals(settled(8, 12).digest(), settled(8, 13).digest());
    assertNotEquals(settled(8, 8).digest(), call("id", 8, true).digest());
    assertEquals(2706074473600808349L, settled(8, 12).digest());
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
