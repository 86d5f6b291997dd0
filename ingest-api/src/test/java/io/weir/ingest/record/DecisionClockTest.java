// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.ingest.clock.LocalClock;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class DecisionClockTest {
  private final AtomicLong local = new AtomicLong(100_000);
  private final AtomicLong steps = new AtomicLong();
  private final DecisionClock clock =
      new DecisionClock(new LocalClock(() -> (local.get() - steps.get()) * 1_000_000, local::get));

  /** Sets the local clock, which is no passing of time. */
  private void step(long millis) {
    steps.addAndGet(millis);
    local.addAndGet(millis);
  }

  @Test
  void now_neverObserved_isTheLocalClock() {
    assertEquals(100_000, clock.nowEpochMillis());
  }

  @Test
  void now_cacheAhead_followsWithOneMillisecondOfCaution() {
    clock.observe(103_000);
    local.addAndGet(10);

    assertEquals(103_009, clock.nowEpochMillis());
    assertEquals(2_999, clock.offsetMillis());
    step(2_000);
    assertEquals(0, clock.offsetMillis(), "not known of a clock that was set");
  }

  @Test
  void now_slowAnswer_doesNotSetTheClockBack() {
    clock.observe(100_000);
    local.addAndGet(500);
    clock.observe(100_100); // decided 400 ms before it was received

    assertEquals(100_499, clock.nowEpochMillis());
  }

  @Test
  void now_cacheSetBack_isFollowedWithinTwoWindows() {
    clock.observe(100_000);
    for (int i = 0; i < 21; i++) {
      local.addAndGet(1_000);
      clock.observe(local.get() - 5_000);
    }

    assertEquals(local.get() - 5_001, clock.nowEpochMillis());
  }

  @Test
  void now_localClockSetFarBack_stillFollowsTheCache() {
    clock.observe(100_000);
    step(-80_000);
    clock.observe(100_100);
    local.addAndGet(50);

    assertEquals(100_149, clock.nowEpochMillis());
  }

  @Test
  void now_localClockWasBehindAndIsSetRight_isNotAhead() {
    clock.observe(400_000); // a machine that stood still for 300 s
    assertEquals(399_999, clock.nowEpochMillis());

    step(300_000);

    assertEquals(400_000, clock.nowEpochMillis());
    local.addAndGet(1_000);
    clock.observe(401_000);
    assertEquals(400_999, clock.nowEpochMillis());
  }

  @Test
  void now_severalServers_followsTheSlowest() {
    clock.observe("a", 103_000);
    assertEquals(102_999, clock.nowEpochMillis());
    clock.observe(104_000); // of the only server
    assertEquals(103_999, clock.nowEpochMillis());

    clock.observe("b", 99_000);
    assertEquals(98_999, clock.nowEpochMillis());
    clock.observe(105_000); // of one of them, but whose?
    assertEquals(98_999, clock.nowEpochMillis());
  }

  @Test
  void now_serverTellsNothingAnyMore_countsOnlyWhileNoOtherDoes() {
    clock.observe("a", 90_000);
    clock.observe("b", 95_000);
    for (int i = 0; i < 20; i++) {
      local.addAndGet(1_000);
      clock.observe("b", local.get() - 5_000);
    }
    assertEquals(local.get() - 5_001, clock.nowEpochMillis());

    local.addAndGet(60_000);
    assertEquals(local.get() - 10_001, clock.nowEpochMillis(), "no server replies");
  }

  @Test
  void now_observedBeforeTheServerWasNamed_isForgottenThen() {
    clock.observe(90_000);
    clock.observe("a", 103_000);

    assertEquals(102_999, clock.nowEpochMillis());
  }
}
