// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

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
