// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The read budget of each client. */
final class ReadBudgetsTest {
  private long nowNanos;
  private final ReadBudgets budgets = new ReadBudgets(() -> nowNanos);

  @Test
  void spentBytes_areRepaidAtASteadyRate() {
    budgets.spend("a", 10 << 20);
    assertEquals(10 << 20, budgets.level("a"));
    nowNanos += Duration.ofSeconds(2).toNanos();
    assertEquals(6 << 20, budgets.level("a"));
    nowNanos += Duration.ofDays(400).toNanos();
    assertEquals(0, budgets.level("a"));
  }

  @Test
  void spentBudget_onlyItsClientWaits() {
    budgets.spend("a", ReadBudgets.CAPACITY_BYTES);

    assertTrue(budgets.isSpent("a"));
    assertEquals(1, budgets.secondsToWait("a"));
    assertEquals(16, budgets.secondsToWait("a", 32 << 20));
    assertFalse(budgets.isSpent("b"));
    assertEquals(0, budgets.secondsToWait("b"));
    nowNanos += Duration.ofMillis(500).toNanos();
    assertEquals(0, budgets.secondsToWait("a"));
  }
}
