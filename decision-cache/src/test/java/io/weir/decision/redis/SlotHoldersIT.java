// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.SlotClaim;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests ten thousand holders of a few slots in Redis. Some of the holders crash. */
class SlotHoldersIT {
  private static final int HOLDERS = 10_000;
  private static final int THREADS = 64;
  private static final int SLOTS = 40;
  private static final int LEASE_MICROS = 100_000;
  private static final long SEED = Long.getLong("weir.test.seed", 1);

  /**
   * The time for which a slot was held, by Redis' clock: from an inclusive start to an exclusive
   * end.
   */
  private record Held(long fromMicros, long untilMicros) {}

  private final AtomicInteger taken = new AtomicInteger();

  private static Check check(String id) {
    ConcurrencyLimit limit = new ConcurrencyLimit(SLOTS, LEASE_MICROS);
    return new Check(
        List.of(new BucketRequest("w1:{4:acme}:7:reports@slots", limit, true)),
        1,
        SlotClaim.of("acme", id));
  }

  @Test
  void tenThousandHolders_someOfWhomDie_neverHoldMoreThanTheLimit_andLeaveAllSlots()
      throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis.uri()))) {
      List<Held> held = new ArrayList<>();
      ExecutorService threads = Executors.newFixedThreadPool(THREADS);
      try {
        List<Future<List<Held>>> all = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
          long seed = SEED + thread;
          all.add(threads.submit(() -> holdAndDie(cache, seed)));
        }
        for (Future<List<Held>> one : all) {
          held.addAll(one.get());
        }
      } finally {
        threads.shutdownNow();
      }
      assertEquals(HOLDERS, held.size());
      int most = mostAtOnce(held);
      assertTrue(most <= SLOTS, "at once " + most);
      assertTrue(most > SLOTS / 2, "hardly any at once: " + most);

      // crashed holders hold no slot longer than one lease
      Await.until("all slots to be free", () -> free(cache) == SLOTS);
      long last = held.stream().mapToLong(Held::untilMicros).max().orElseThrow();
      assertTrue(now(cache) >= last);
      for (int i = 0; i < SLOTS; i++) {
        assertInstanceOf(Decision.Allowed.class, cache.take(longLeased("after" + i)));
      }
      assertInstanceOf(Decision.Denied.class, cache.take(longLeased("one more")));
    }
  }

  private static Check longLeased(String id) {
    Check check = check(id);
    ConcurrencyLimit hour = new ConcurrencyLimit(SLOTS, 3_600_000_000L);
    return check.of(List.of(new BucketRequest(check.buckets().get(0).bucket(), hour, true)));
  }

  /**
   * Takes slots until every holder has had a slot. One in twenty holders crashes while it holds its
   * slot.
   */
  private List<Held> holdAndDie(RedisDecisionCache cache, long seed) {
    Random random = new Random(seed);
    List<Held> held = new ArrayList<>();
    for (int i = taken.incrementAndGet(); i <= HOLDERS; i = taken.incrementAndGet()) {
      Check check = check("h" + i);
      Decision decision = cache.take(check);
      while (decision instanceof Decision.Denied) {
        decision = cache.take(check);
      }
      long from = assertInstanceOf(Decision.Allowed.class, decision).decidedAtEpochMicros();
      long end = from + LEASE_MICROS;
      if (random.nextInt(20) > 0) {
        Decision.Allowed released =
            assertInstanceOf(Decision.Allowed.class, cache.submitRelease(check).join());
        // the lease of a delayed thread has expired
        end = Math.min(end, released.decidedAtEpochMicros());
      }
      held.add(new Held(from, end));
    }
    return held;
  }

  private static int mostAtOnce(List<Held> held) {
    List<long[]> changes = new ArrayList<>();
    for (Held each : held) {
      changes.add(new long[] {each.fromMicros(), 1});
      changes.add(new long[] {each.untilMicros(), -1});
    }
    // at the same time, ends come before starts
    changes.sort(Comparator.<long[]>comparingLong(each -> each[0]).thenComparing(each -> each[1]));
    int now = 0;
    int most = 0;
    for (long[] change : changes) {
      now += (int) change[1];
      most = Math.max(most, now);
    }
    return most;
  }

  private static Decision.Decided peek(RedisDecisionCache cache) {
    return assertInstanceOf(Decision.Decided.class, cache.peek(check("nobody")));
  }

  private static long free(RedisDecisionCache cache) {
    return peek(cache).buckets().get(0).remainingTokens();
  }

  private static long now(RedisDecisionCache cache) {
    return peek(cache).decidedAtEpochMicros();
  }
}
