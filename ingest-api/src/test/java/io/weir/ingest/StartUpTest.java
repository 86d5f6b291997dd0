// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

final class StartUpTest {
  private final AtomicReference<String> missing = new AtomicReference<>("the cache");

  @Test
  void isOver_whenNothingIsMissing_andStaysSo() {
    StartUp start = new StartUp(missing::get, Duration.ofDays(1));
    assertFalse(start.isComplete());
    missing.set("");

    assertTrue(start.isComplete());
    missing.set("the cache");
    assertTrue(start.isComplete(), "a later loss is no matter of the start");
  }

  @Test
  void isOver_afterTheWait_isTrueThoughSomethingIsMissing() throws Exception {
    StartUp start = new StartUp(missing::get, Duration.ofMillis(1));

    start.await();

    assertTrue(start.isComplete());
  }

  @Test
  void isOver_withoutAWait_isTrueAtOnce() {
    assertTrue(new StartUp(missing::get, Duration.ZERO).isComplete());
  }
}
