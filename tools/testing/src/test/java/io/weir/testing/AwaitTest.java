// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class AwaitTest {
  @Test
  void until_conditionBecomesTrue_looksNoMore() throws Exception {
    AtomicInteger looks = new AtomicInteger();

    Await.until("three looks", () -> looks.incrementAndGet() == 3);

    assertEquals(3, looks.get());
  }

  @Test
  void within_neverTrue_looksAtLeastOnceAndSaysSo() throws Exception {
    AtomicInteger looks = new AtomicInteger();

    assertFalse(
        Await.within(
            Duration.ZERO,
            () -> {
              looks.incrementAndGet();
              return false;
            }));
    assertTrue(Await.within(Duration.ZERO, () -> true));
    assertEquals(1, looks.get());
  }

  @Test
  void until_interrupted_ends() {
    Thread.currentThread().interrupt();

    assertThrows(InterruptedException.class, () -> Await.until("never", () -> false));
  }
}
