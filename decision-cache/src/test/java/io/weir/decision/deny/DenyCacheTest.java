// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.deny;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.StillDenied;
import io.weir.limits.check.Decision.StillDenied.Shortage;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class DenyCacheTest {
  private static final long MILLI_NANOS = 1_000_000;
  private static final long MICRO_NANOS = 1_000;
  private static final Duration MAX_AGE = Duration.ofSeconds(30);
  private static final Object SOURCE = "a connection";

  /** A limit that gains a token every 100 ms. */
  private static final BucketLimit LIMIT = new TokenBucketLimit(10, 10, 1_000_000);

  private long nowNanos = 1;
  private final DenyCache cache = new DenyCache(MAX_AGE, () -> nowNanos);

  private static Check check(long cost) {
    return new Check(List.of(new BucketRequest("b", LIMIT, true)), cost);
  }

  private static BucketReply sufficient() {
    return new BucketReply(true, 10, 0, 0, 0, 0, 0, false);
  }

  private static BucketReply insufficient(long remaining, long retryAfterMillis) {
    long micros = retryAfterMillis * 1_000;
    return new BucketReply(false, remaining, micros + 1_000, micros, 7, 0, 9, false);
  }

  private void note(Check check, BucketReply... replies) {
    cache.note(SOURCE, check, new Decision.Denied(1, List.of(replies), 0, false), nowNanos);
  }

  private void passMillis(long millis) {
    nowNanos += millis * MILLI_NANOS;
  }

  @Test
  void denied_isDeniedUntilTheBucketMayHoldTheCost() {
    note(check(5), insufficient(2, 300));
    passMillis(299);
    assertNotNull(cache.find(SOURCE, check(5)));
    passMillis(1);
    assertNull(cache.find(SOURCE, check(5)));
  }

  @Test
  void reply_isThatOfNow() {
    note(check(5), insufficient(2, 300));
    passMillis(100);
    assertEquals(
        new StillDenied(
            List.of(new Shortage(0, new BucketReply(false, 3, 201_000, 200_000, 0, 0, 0, false)))),
        cache.find(SOURCE, check(5)));
  }

  @Test
  void higherCost_isDeniedForLonger_lowerCostQueriesTheCache() {
    note(check(5), insufficient(2, 300));
    assertNull(cache.find(SOURCE, check(4)));
    passMillis(400);
    StillDenied denied = cache.find(SOURCE, check(7));
    assertEquals(
        100_000, denied == null ? -1 : denied.shortages().get(0).reply().retryAfterMicros());
    passMillis(100);
    assertNull(cache.find(SOURCE, check(7)));
  }

  /** Regression: a call was denied for up to one second after the bucket held its cost. */
  @Test
  void bucketRefilledInTicks_dearerCall_isDeniedForWholeTicksOnly() {
    long capacity = 1L << 40; // per day, so a tick is one second
    BucketRequest request =
        new BucketRequest("t", new TokenBucketLimit(capacity, capacity, 86_400_000_000L), true);
    note(new Check(List.of(request), 1_000), insufficient(0, 141));
    passMillis(200);
    assertNull(cache.find(SOURCE, new Check(List.of(request), 12_089_537)));
    passMillis(-200);
    long tick = capacity / 86_400 + 1;
    StillDenied denied = cache.find(SOURCE, new Check(List.of(request), 1_000 + tick));
    assertEquals(
        1_141_000, denied == null ? -1 : denied.shortages().get(0).reply().retryAfterMicros());
  }

  /** The time of a denial is only known to be after the request. */
  @Test
  void time_countsFromTheRequest_retryAfterFromTheReply() {
    long asked = nowNanos;
    passMillis(50);
    cache.note(
        SOURCE, check(5), new Decision.Denied(1, List.of(insufficient(2, 300)), 0, false), asked);
    passMillis(200);
    StillDenied denied = cache.find(SOURCE, check(5));
    assertEquals(
        100_000, denied == null ? -1 : denied.shortages().get(0).reply().retryAfterMicros());
    passMillis(50);
    assertNull(cache.find(SOURCE, check(5)));
  }

  @Test
  void quota_isDeniedForEveryCostUntilItsPeriodEnds() {
    BucketLimit quota = new QuotaLimit(10, 5_000_000);
    Check check = new Check(List.of(new BucketRequest("q", quota, true)), 5);
    note(check, insufficient(2, 900));
    passMillis(899);
    StillDenied denied = cache.find(SOURCE, new Check(check.buckets(), 9));
    assertEquals(2, denied == null ? -1 : denied.shortages().get(0).reply().remainingTokens());
    passMillis(1);
    assertNull(cache.find(SOURCE, new Check(check.buckets(), 9)));
  }

  @Test
  void anotherLimitOrConnection_queriesTheCache() {
    note(check(5), insufficient(2, 300));
    BucketLimit other = new TokenBucketLimit(11, 10, 1_000_000);
    assertNull(cache.find(SOURCE, new Check(List.of(new BucketRequest("b", other, true)), 5)));
    assertNull(cache.find("another connection", check(5)));
    assertNotNull(cache.find(SOURCE, check(5)));
  }

  @Test
  void costAboveTheCapacity_queriesTheCache() {
    note(check(5), insufficient(2, 300));
    assertNull(cache.find(SOURCE, check(11)));
    cache.drop("b");
    note(check(11), new BucketReply(false, 2, 300, -1, 0, 0, 0, false));
    assertEquals(0, cache.bucketCount());
  }

  @Test
  void shadowBucket_deniesNothing() {
    List<BucketRequest> buckets =
        List.of(new BucketRequest("shadow", LIMIT, false), new BucketRequest("b", LIMIT, true));
    note(new Check(buckets, 5), insufficient(2, 900), insufficient(2, 300));
    StillDenied denied = cache.find(SOURCE, new Check(buckets, 5));
    assertEquals(
        List.of(1),
        denied == null ? null : denied.shortages().stream().map(Shortage::bucket).toList());
    passMillis(300);
    assertNull(cache.find(SOURCE, new Check(buckets, 5)));
  }

  @Test
  void ofSeveralBuckets_knownShortagesAreReturned() {
    List<BucketRequest> buckets =
        List.of(new BucketRequest("a", LIMIT, true), new BucketRequest("b", LIMIT, true));
    note(new Check(buckets, 5), sufficient(), insufficient(2, 300));
    StillDenied denied = cache.find(SOURCE, new Check(buckets, 5));
    assertEquals(
        List.of(1),
        denied == null ? null : denied.shortages().stream().map(Shortage::bucket).toList());
    assertNull(cache.find(SOURCE, new Check(List.of(buckets.get(0)), 5)));
  }

  @Test
  void dropped_queriesTheCache() {
    note(check(5), insufficient(2, 300));
    cache.drop("another");
    assertNotNull(cache.find(SOURCE, check(5)));
    cache.drop("b");
    assertNull(cache.find(SOURCE, check(5)));
  }

  @Test
  void cacheThatLostItsState_isQueried_newDenialsAreKept() {
    cache.seen(true);
    note(check(5), insufficient(2, 300));
    cache.seen(true);
    assertNotNull(cache.find(SOURCE, check(5)));
    cache.seen(false);
    assertNull(cache.find(SOURCE, check(5)));
    note(check(5), insufficient(2, 300));
    cache.seen(false);
    assertNotNull(cache.find(SOURCE, check(5)));
    cache.seen(true);
    assertNotNull(cache.find(SOURCE, check(5)));
  }

  @Test
  void afterTheMaximumAge_queriesTheCache() {
    note(check(5), insufficient(2, 3_600_000));
    passMillis(MAX_AGE.toMillis() - 1);
    assertNotNull(cache.find(SOURCE, check(5)));
    passMillis(1);
    assertNull(cache.find(SOURCE, check(5)));
  }

  @Test
  void ageOfZero_keepsNothing() {
    DenyCache off = new DenyCache(Duration.ZERO, () -> nowNanos);
    off.note(SOURCE, check(5), new Decision.Denied(1, List.of(insufficient(2, 300)), 0, false), 1);
    assertNull(off.find(SOURCE, check(5)));
    assertEquals(0, off.bucketCount());
  }

  @Test
  void moreBucketsThanAreKept_someAreForgotten() {
    for (int i = 0; i < 2 * DenyCache.MAX_BUCKETS; i++) {
      Check check = new Check(List.of(new BucketRequest("b" + i, LIMIT, true)), 5);
      note(check, insufficient(2, 300));
    }
    assertTrue(cache.bucketCount() <= DenyCache.MAX_BUCKETS, () -> "" + cache.bucketCount());
  }

  /** Compares each denial with the arithmetic, for random histories of charges and corrections. */
  @Test
  void manyHistories_everyRepeatedDenialIsOneOfTheCache() {
    int repeated = 0;
    for (int seed = 1; seed <= 2_000; seed++) {
      repeated += new History(seed).play();
    }
    assertTrue(repeated > 30_000, "only " + repeated + " denials were repeated");
  }

  /** Limits whose ticks are a second, a millisecond and a microsecond. */
  @Test
  void ticksOfAnyLength_everyRepeatedDenialIsOneOfTheCache() {
    Random random = new Random(1);
    int repeated = 0;
    for (TokenBucketLimit limit :
        List.of(
            new TokenBucketLimit(1L << 40, 1L << 40, 86_400_000_000L),
            new TokenBucketLimit(10L << 30, 1L << 30, 3_600_000_000L),
            new TokenBucketLimit(1_000, 1_000, 1_000_000))) {
      BucketRequest request = new BucketRequest("ticks", limit, true);
      long nowMicros = 1_700_000_000_000_000L;
      nowNanos = nowMicros * MICRO_NANOS;
      BucketState kept = limit.arithmetic().refill(null, nowMicros);
      kept = limit.arithmetic().charge(kept, limit.capacityTokens(), nowMicros);
      long most = limit.refillTokens() * 4_000_000L / limit.refillPeriodMicros();
      for (int i = 0; i < 50_000; i++) {
        long at = nowMicros + random.nextInt(3_000_000);
        nowNanos = at * MICRO_NANOS;
        cache.drop("ticks");
        BucketState known = kept;
        for (int j = 0; j < 3; j++) {
          Check check =
              new Check(List.of(request), 1 + (long) (random.nextDouble() * (double) most));
          StillDenied denied = cache.find(SOURCE, check);
          Decision real = CheckDecider.decide(check, true, true, at, key -> known).decision();
          if (denied != null) {
            assertInstanceOf(Decision.Denied.class, real, limit + " at " + at + ": " + check);
            repeated++;
          } else if (real instanceof Decision.Denied said) {
            cache.note(SOURCE, check, said, nowNanos);
          }
          at += random.nextInt(500_000);
          nowNanos = at * MICRO_NANOS;
        }
      }
    }
    assertTrue(repeated > 10_000, "only " + repeated + " denials were repeated");
  }

  /** A cache with three buckets and a deny cache. */
  private static final class History {
    private final int seed;
    private final Random random;
    private final Map<String, BucketState> kept = new HashMap<>();
    private final List<BucketRequest> requests = new ArrayList<>();
    private long nowMicros = 1_700_000_000_000_000L;
    private long version;
    private final DenyCache denials = new DenyCache(MAX_AGE, () -> nowMicros * MICRO_NANOS);

    History(int seed) {
      this.seed = seed;
      this.random = new Random(seed);
      for (int i = 0; i < 3; i++) {
        long capacity = 1L + random.nextInt(12);
        BucketLimit limit =
            random.nextInt(4) == 0
                ? new QuotaLimit(capacity, nowMicros + 20_000_000)
                : new TokenBucketLimit(
                    capacity, 1L + random.nextInt(7), 1L + random.nextInt(2_000_000));
        requests.add(new BucketRequest("b" + i, limit, random.nextInt(5) > 0));
      }
    }

    int play() {
      int repeated = 0;
      for (int step = 0; step < 100; step++) {
        nowMicros += random.nextInt(400_000);
        if (random.nextInt(12) == 0) {
          correct(requests.get(random.nextInt(requests.size())));
          continue;
        }
        int first = random.nextInt(3);
        List<BucketRequest> asked = requests.subList(first, first + 1 + random.nextInt(3 - first));
        Check check = new Check(asked, 1L + random.nextInt(6));
        StillDenied denied = denials.find(SOURCE, check);
        Decision real = decide(check, denied != null);
        if (denied != null) {
          compare(check, denied, assertInstanceOf(Decision.Denied.class, real, "seed " + seed));
          repeated++;
        } else if (real instanceof Decision.Denied said) {
          denials.note(SOURCE, check, said, nowMicros * MICRO_NANOS);
        }
      }
      return repeated;
    }

    private Decision decide(Check check, boolean peek) {
      CheckDecider.Outcome outcome = CheckDecider.decide(check, peek, true, nowMicros, kept::get);
      outcome.writes().forEach(write -> kept.put(write.bucket(), write.state()));
      outcome.restarts().forEach(each -> kept.put(each.bucket(), each.state()));
      return outcome.decision();
    }

    /** Later charges may make the caller's waiting time longer. */
    private void compare(Check check, StillDenied denied, Decision.Denied real) {
      for (Shortage shortage : denied.shortages()) {
        BucketReply told = shortage.reply();
        BucketReply now = real.buckets().get(shortage.bucket());
        String shown = "seed " + seed + ": " + check + " told " + told + ", is " + now;
        assertTrue(!now.sufficient(), shown);
        assertTrue(told.retryAfterMicros() > 0, shown);
        assertTrue(told.retryAfterMicros() <= now.retryAfterMicros() + 1, shown);
        assertTrue(told.resetMicros() >= told.retryAfterMicros(), shown);
        assertTrue(told.remainingTokens() < check.cost(), shown);
        assertTrue(told.remainingTokens() >= now.remainingTokens() - 1, shown);
      }
    }

    private void correct(BucketRequest request) {
      BucketState before = kept.get(request.bucket());
      if (before == null) {
        return;
      }
      long used = random.nextInt(15);
      Correction correction =
          new Correction(
              request.bucket(),
              request.limit(),
              before.epoch(),
              ++version,
              before.chargedTokens(),
              nowMicros + random.nextInt(3_000_000),
              used,
              0,
              Correction.Cause.GAP,
              nowMicros / 1_000,
              nowMicros / 1_000,
              0);
      BucketState after =
          CorrectionRule.apply(new BoundedCorrection(correction, 100), before, nowMicros).state();
      if (after == null) {
        return;
      }
      BucketArithmetic arithmetic = request.limit().arithmetic();
      kept.put(request.bucket(), after);
      if (arithmetic.levelUnits(arithmetic.refill(after, nowMicros))
          > arithmetic.levelUnits(arithmetic.refill(before, nowMicros))) {
        denials.drop(request.bucket());
      }
    }
  }
}
