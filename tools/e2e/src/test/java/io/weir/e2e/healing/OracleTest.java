// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class OracleTest {
  private static final long T = 1_700_000_000_000L;
  private static final Rule BURST = Rule.bucket("burst", "GET *", 10, Duration.ofSeconds(1));
  private static final Rule MONTHLY = Rule.quota("monthly", "*", 4);
  private static final String KEY = BURST.place("a", T).key();

  private static CallEvent call(
      long epochMillis, long cost, boolean allowed, long epoch, long charged) {
    return new CallEvent(
        "id-" + epochMillis + "-" + charged,
        false,
        "a",
        "GET /x",
        "calls",
        cost,
        allowed,
        epoch > 0 ? DecidedBy.CACHE : DecidedBy.FAIL_OPEN,
        "burst",
        1,
        epochMillis,
        null,
        epoch > 0
            ? List.of(new Charge(KEY, cost, null, new Stamp(epoch, 0, charged, 0)))
            : List.of());
  }

  @Test
  void level_callsInAnyOrder_isTheIdealBucketsInTheirTrueOrder() {
    Oracle oracle =
        new Oracle(
            List.of(BURST),
            List.of(
                call(T + 2_000, 3, true, 9, 8),
                call(T, 5, true, 9, 5),
                call(T + 1, 1, false, 0, 0)));

    assertEquals(6, oracle.levelAfterAll(KEY, (T + 4_000) * 1_000), 1e-6);
    assertEquals(8, oracle.admittedTokens(KEY));
    assertEquals(Optional.of((T + 1) * 1_000), oracle.firstCallMicros(KEY, (T + 1) * 1_000));
  }

  @Test
  void level_unstampedCalls_areDebited() {
    Oracle oracle =
        new Oracle(List.of(BURST), List.of(call(T, 10, true, 9, 10), call(T, 5, true, 0, 0)));

    assertEquals(-4, oracle.levelAfterAll(KEY, (T + 1_000) * 1_000), 1e-6);
  }

  @Test
  void levelAt_callsOfTheSameMillisecond_countUpToTheCachesCounter() {
    Oracle oracle =
        new Oracle(List.of(BURST), List.of(call(T, 2, true, 9, 4), call(T, 2, true, 9, 2)));

    assertEquals(8, oracle.levelAt(new KeptBucket(KEY, T * 1_000, 9, 0, 2, 0)), 1e-3);
    assertEquals(6, oracle.levelAt(new KeptBucket(KEY, T * 1_000, 9, 0, 4, 0)), 1e-3);
  }

  @Test
  void quota_anyTime_neverRefills() {
    Oracle oracle =
        new Oracle(
            List.of(BURST, MONTHLY), List.of(call(T, 3, true, 9, 3), call(T, 1, false, 0, 0)));
    String quota = MONTHLY.place("a", T).key();

    assertEquals(1, oracle.levelAfterAll(quota, (T + 1_000_000) * 1_000), 0);
    assertTrue(quota.contains("@"));
  }

  @Test
  void healTime_bucketSeenWrong_runsFromItsFirstCallToTheFirstRightLook() {
    Oracle oracle =
        new Oracle(
            List.of(BURST), List.of(call(T, 10, true, 9, 10), call(T + 100, 1, true, 10, 1)));
    List<KeptBucket> seen =
        List.of(
            new KeptBucket(KEY, (T + 50) * 1_000, 0, 0, 0, 10),
            new KeptBucket(KEY, (T + 150) * 1_000, 10, 0, 1, 9),
            new KeptBucket(KEY, (T + 250) * 1_000, 10, 0, 1, -0.7));

    HealTimes times = HealTimes.of(oracle, seen, (T + 10) * 1_000);

    assertEquals(1, times.disturbed());
    assertEquals(150, times.sinceFirstCallMillis(99));
    assertEquals(List.of(), times.neverHealed());
  }
}
