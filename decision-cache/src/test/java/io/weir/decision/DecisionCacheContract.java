// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.ClientCalendar;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.SlidingLog;
import io.weir.limits.SlidingWindow;
import io.weir.limits.SlidingWindowLimit;
import io.weir.limits.SlotClaim;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.testing.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The contract of every decision cache. Limits refill so slowly (one token an hour) that a running
 * clock gives the same results as a stopped clock.
 */
public abstract class DecisionCacheContract {
  private static final long HOUR_MICROS = 3_600_000_000L;

  /** Buckets that only this test uses. */
  private final String prefix = "w1:{" + UUID.randomUUID() + "}:";

  private long endsAt;

  @BeforeEach
  void endThePeriodInAnHour() {
    endsAt = nowEpochMicros() + HOUR_MICROS;
  }

  /** Returns the cache under test. */
  protected abstract DecisionCache cache();

  /** Makes the cache warm or cold. */
  protected abstract void setWarm(boolean warm);

  /** Returns the time by the cache's clock or shortly before it, in microseconds since 1970. */
  protected abstract long nowEpochMicros();

  private static TokenBucketLimit hourly(long capacityTokens) {
    return new TokenBucketLimit(capacityTokens, 1, HOUR_MICROS);
  }

  private BucketRequest enforced(String name, long capacityTokens) {
    return new BucketRequest(prefix + name, hourly(capacityTokens), true);
  }

  private BucketRequest shadow(String name, long capacityTokens) {
    return new BucketRequest(prefix + name, hourly(capacityTokens), false);
  }

  private BucketRequest quota(String name, long capacityTokens) {
    return quota(name, capacityTokens, false);
  }

  private BucketRequest quota(String name, long capacityTokens, boolean held) {
    return new BucketRequest(prefix + name, new QuotaLimit(capacityTokens, endsAt), true, held);
  }

  /** Returns the current or an earlier sub-window of a window of 20 days. */
  private BucketRequest sliding(long capacityTokens, int subWindows, int back) {
    SlidingWindow window = new SlidingWindow(capacityTokens, 20 * 86_400, subWindows);
    long millis = nowEpochMicros() / 1_000 - back * window.subWindowSeconds() * 1_000;
    PeriodicLimit.Span span = window.at(millis, ClientCalendar.OF_POLICY);
    return new BucketRequest(prefix + "sliding@" + span.endEpochSecond(), window.in(span), true);
  }

  private static Check check(long cost, BucketRequest... buckets) {
    return new Check(List.of(buckets), cost);
  }

  private Decision.Allowed allowed(Check check) {
    return assertInstanceOf(Decision.Allowed.class, cache().take(check));
  }

  private Decision.Denied denied(Check check) {
    return assertInstanceOf(Decision.Denied.class, cache().take(check));
  }

  @Test
  void take_newBucket_isFullAndStampsAnEpoch() {
    Decision.Allowed decision = allowed(check(3, enforced("a", 10)));

    BucketReply reply = decision.buckets().get(0);
    assertEquals(
        new BucketReply(
            true, 7, reply.resetMicros(), 0, decision.decidedAtEpochMicros(), 0, 3, true),
        reply);
    assertEquals(3 * HOUR_MICROS, reply.resetMicros());
  }

  @Test
  void take_secondCall_keepsTheEpochAndAddsUpTheCharge() {
    BucketReply first = allowed(check(3, enforced("a", 10))).buckets().get(0);
    BucketReply second = allowed(check(4, enforced("a", 10))).buckets().get(0);

    assertEquals(first.epoch(), second.epoch());
    assertEquals(7, second.chargedTokens());
    assertEquals(3, second.remainingTokens());
  }

  @Test
  void submit_severalBeforeTheFirstIsAwaited_areDecidedInOrder() {
    List<CompletableFuture<Decision>> pending = new ArrayList<>();
    for (long cost : new long[] {6, 5, 4}) {
      pending.add(cache().submit(check(cost, enforced("a", 10))));
    }

    List<Decision> decisions = pending.stream().map(CompletableFuture::join).toList();

    assertInstanceOf(Decision.Allowed.class, decisions.get(0));
    assertInstanceOf(Decision.Denied.class, decisions.get(1));
    assertInstanceOf(Decision.Allowed.class, decisions.get(2));
  }

  @Test
  void submit_resultNeverAwaited_isStillCharged() throws Exception {
    var unused = cache().submit(check(6, enforced("a", 10)));

    Await.until(
        "the charge",
        () ->
            cache().peek(check(5, enforced("a", 10))) instanceof Decision.Denied denied
                && denied.buckets().get(0).remainingTokens() == 4);
  }

  @Test
  void take_exactFit_isAllowedAndLeavesNothing() {
    assertEquals(0, allowed(check(10, enforced("a", 10))).buckets().get(0).remainingTokens());
  }

  @Test
  void take_oneShort_isDeniedWithTheTimeToWait() {
    allowed(check(4, enforced("a", 10)));

    Decision.Denied decision = denied(check(7, enforced("a", 10)));
    BucketReply reply = decision.buckets().get(0);
    assertEquals(0, decision.decidingBucket());
    assertFalse(decision.costExceedsCapacity());
    assertFalse(reply.sufficient());
    assertFalse(reply.charged());
    assertEquals(6, reply.remainingTokens());
    assertTrue(
        reply.retryAfterMicros() > HOUR_MICROS / 2 && reply.retryAfterMicros() <= HOUR_MICROS,
        () -> "retry after " + reply.retryAfterMicros());
  }

  @Test
  void take_costAboveCapacity_isDeniedAsExceedingCapacity() {
    Decision.Denied decision = denied(check(11, enforced("a", 10)));

    assertTrue(decision.costExceedsCapacity());
    assertEquals(-1, decision.buckets().get(0).retryAfterMicros());
    assertEquals(10, decision.buckets().get(0).remainingTokens());
  }

  @Test
  void take_largestCost_isDeniedAndDoesNotOverflow() {
    assertTrue(denied(check(Long.MAX_VALUE, enforced("a", 10))).costExceedsCapacity());
  }

  @Test
  void take_capacityZero_isDeniedForEver_andChargesNoOtherBucket() {
    allowed(check(3, enforced("a", 10)));
    BucketRequest deny = new BucketRequest(prefix + "a", TokenBucketLimit.DENY, true);

    Decision.Denied decision = denied(check(1, enforced("b", 10), deny));
    assertTrue(decision.costExceedsCapacity());
    assertEquals(1, decision.decidingBucket());
    BucketReply reply = decision.buckets().get(1);
    assertEquals(-1, reply.retryAfterMicros());
    assertEquals(0, reply.remainingTokens());
    assertEquals(0, reply.resetMicros());
    BucketRequest shadow = new BucketRequest(prefix + "s", TokenBucketLimit.DENY, false);
    Decision.Allowed passed = allowed(check(1, enforced("b", 10), shadow));
    assertEquals(9, passed.buckets().get(0).remainingTokens());
    assertFalse(passed.buckets().get(1).sufficient());
  }

  @Test
  void take_oneOfTwoBucketsIsShort_chargesNeither() {
    allowed(check(2, enforced("small", 2)));

    Decision.Denied decision = denied(check(1, enforced("large", 10), enforced("small", 2)));
    assertEquals(1, decision.decidingBucket());
    assertEquals(10, decision.buckets().get(0).remainingTokens());
    assertTrue(decision.buckets().get(0).sufficient());
    BucketReply large = allowed(check(1, enforced("large", 10))).buckets().get(0);
    assertEquals(9, large.remainingTokens());
    assertEquals(1, large.chargedTokens());
  }

  @Test
  void take_severalBucketsAreShort_theLongestWaitDecides() {
    allowed(check(5, enforced("a", 5), enforced("b", 5)));
    allowed(check(1, enforced("c", 6)));

    Decision.Denied decision =
        denied(check(3, enforced("c", 2), enforced("a", 5), enforced("b", 5)));
    assertEquals(0, decision.decidingBucket());
    assertTrue(decision.costExceedsCapacity());
    decision = denied(check(3, enforced("c", 6), enforced("a", 5), enforced("b", 5)));
    assertTrue(
        decision.buckets().get(decision.decidingBucket()).retryAfterMicros()
            >= decision.buckets().get(2).retryAfterMicros());
    assertEquals(1, decision.decidingBucket());
  }

  @Test
  void take_shadowBucketIsShort_isAllowedAndDoesNotChargeIt() {
    allowed(check(2, shadow("shadow", 2)));

    Decision.Allowed decision = allowed(check(1, shadow("shadow", 2), enforced("real", 10)));
    assertFalse(decision.buckets().get(0).charged());
    assertFalse(decision.buckets().get(0).sufficient());
    assertEquals(0, decision.buckets().get(0).remainingTokens());
    assertTrue(decision.buckets().get(1).charged());
    assertEquals(9, decision.buckets().get(1).remainingTokens());
  }

  @Test
  void take_shadowBucketHoldsTheCost_isChargedWithAnAllowedCall() {
    assertTrue(allowed(check(1, shadow("shadow", 2))).buckets().get(0).charged());
  }

  @Test
  void take_shadowRuleFirst_doesNotShortCircuitEnforcedOnes() {
    allowed(check(2, enforced("real", 2)));

    Decision.Denied decision = denied(check(1, shadow("shadow", 9), enforced("real", 2)));
    assertEquals(1, decision.decidingBucket());
    assertEquals(9, decision.buckets().get(0).remainingTokens());
    assertFalse(decision.buckets().get(0).charged());
  }

  @Test
  void take_shadowBucketBelowCost_neverRefuses() {
    assertInstanceOf(
        Decision.Allowed.class, cache().take(check(5, shadow("shadow", 2), enforced("real", 5))));
  }

  @Test
  void peek_fullBucket_isAllowedAndTakesNothing() {
    for (int i = 0; i < 3; i++) {
      Decision.Allowed decision =
          assertInstanceOf(Decision.Allowed.class, cache().peek(check(10, enforced("a", 10))));
      BucketReply reply = decision.buckets().get(0);
      assertEquals(new BucketReply(true, 10, 0, 0, 0, 0, 0, false), reply);
    }
  }

  @Test
  void peek_emptyBucket_isDenied() {
    allowed(check(10, enforced("a", 10)));

    assertInstanceOf(Decision.Denied.class, cache().peek(check(1, enforced("a", 10))));
  }

  @Test
  void take_limitHasChanged_carriesWholeTokensOver() {
    allowed(check(4, enforced("a", 10)));

    TokenBucketLimit daily = new TokenBucketLimit(8, 7, 24 * HOUR_MICROS);
    BucketRequest changed = new BucketRequest(prefix + "a", daily, true);
    assertEquals(5, allowed(check(1, changed)).buckets().get(0).remainingTokens());
    BucketRequest smaller = new BucketRequest(prefix + "a", hourly(2), true);
    assertEquals(1, allowed(check(1, smaller)).buckets().get(0).remainingTokens());
  }

  @Test
  void take_maxBuckets_decidesAll() {
    BucketRequest[] buckets = new BucketRequest[Check.MAX_BUCKETS];
    for (int i = 0; i < buckets.length; i++) {
      buckets[i] = enforced("b" + i, 10 + i);
    }

    Decision.Allowed decision = allowed(check(1, buckets));
    for (int i = 0; i < buckets.length; i++) {
      assertEquals(9 + i, decision.buckets().get(i).remainingTokens());
    }
  }

  @Test
  void take_newQuota_isFullUntilThePeriodEnds() {
    Decision.Allowed decision = allowed(check(3, quota("q", 10)));

    long untilEndMicros = endsAt - decision.decidedAtEpochMicros();
    assertEquals(
        new BucketReply(true, 7, untilEndMicros, 0, decision.decidedAtEpochMicros(), 0, 3, true),
        decision.buckets().get(0));
  }

  @Test
  void take_quotaIsShort_isDeniedUntilThePeriodEnds() {
    allowed(check(8, quota("q", 10)));

    Decision.Denied decision = denied(check(3, quota("q", 10)));
    assertFalse(decision.costExceedsCapacity());
    assertEquals(
        endsAt - decision.decidedAtEpochMicros(), decision.buckets().get(0).retryAfterMicros());
    assertTrue(denied(check(11, quota("q", 10))).costExceedsCapacity());
  }

  @Test
  void take_slidingWindow_countsEarlierSubWindowsWhole_andTheOldestInPart() {
    BucketReply afterOldest = allowed(check(40, sliding(100, 4, 4))).buckets().get(0);
    assertEquals(60, afterOldest.remainingTokens());
    allowed(check(5, sliding(100, 4, 3)));
    allowed(check(3, sliding(100, 4, 1)));

    Decision.Allowed now = allowed(check(10, sliding(100, 4, 0), enforced("a", 10)));
    BucketReply reply = now.buckets().get(0);
    SlidingWindowLimit limit = (SlidingWindowLimit) sliding(100, 4, 0).limit();
    long left = limit.subWindowEndsAtMicros() - now.decidedAtEpochMicros();
    long weighted = (long) Math.ceil(40.0 * left / limit.windowMicros());
    assertEquals(100 - 10 - 3 - 5 - weighted, reply.remainingTokens());
    assertEquals(limit.endsAtEpochMicros() - now.decidedAtEpochMicros(), reply.resetMicros());
    assertEquals(10, reply.chargedTokens());

    long tooMuch = reply.remainingTokens() + 1;
    Decision.Denied denied = denied(check(tooMuch, sliding(100, 4, 0), enforced("b", 100)));
    assertEquals(0, denied.decidingBucket());
    assertTrue(denied.buckets().get(0).retryAfterMicros() > 0);
    // the denied call took nothing from the other bucket
    assertEquals(99, allowed(check(1, enforced("b", 100))).buckets().get(0).remainingTokens());
  }

  @Test
  void take_slidingWindow_atABoundary_countsTheNextSubWindow() {
    allowed(check(60, sliding(100, 4, -1)));

    BucketReply behind = allowed(check(30, sliding(100, 4, 0))).buckets().get(0);
    assertEquals(10, behind.remainingTokens());
    assertEquals(9, allowed(check(1, sliding(100, 4, -1))).buckets().get(0).remainingTokens());
    denied(check(10, sliding(100, 4, 0)));
    denied(check(10, sliding(100, 4, -1)));
  }

  @Test
  void take_slidingLog_countsEachCallForAWindow() {
    SlidingLog day = new SlidingLog(10, 24 * HOUR_MICROS);
    BucketRequest log = new BucketRequest(prefix + "log@log", day, true);
    Decision.Allowed first = allowed(check(4, log));
    BucketReply second = allowed(check(5, log, enforced("a", 10))).buckets().get(0);
    assertEquals(new BucketReply(true, 1, day.windowMicros(), 0, 0, 0, 0, true), second);

    Decision.Denied denied = denied(check(2, enforced("a", 10), log));
    assertEquals(1, denied.decidingBucket());
    BucketReply reply = denied.buckets().get(1);
    assertEquals(1, reply.remainingTokens());
    assertEquals(
        first.decidedAtEpochMicros() + day.windowMicros(),
        denied.decidedAtEpochMicros() + reply.retryAfterMicros());
    assertTrue(denied(check(11, log)).costExceedsCapacity());
    // the denied calls took nothing from both buckets
    assertEquals(4, allowed(check(1, enforced("a", 10), log)).buckets().get(0).remainingTokens());
    assertEquals(0, denied(check(1, log)).buckets().get(0).remainingTokens());
  }

  private Check slots(String id, long limit, String... buckets) {
    List<BucketRequest> requests = new ArrayList<>();
    for (String bucket : buckets) {
      ConcurrencyLimit slots = new ConcurrencyLimit(limit, HOUR_MICROS);
      requests.add(new BucketRequest(prefix + bucket + "@slots", slots, true));
    }
    return new Check(requests, 7, SlotClaim.of("contract", id));
  }

  @Test
  void take_slots_areHeldUntilTheyAreReleased_byEachHolderOnce() {
    BucketReply first = allowed(slots("a", 2, "s")).buckets().get(0);
    assertEquals(new BucketReply(true, 1, HOUR_MICROS, 0, 0, 0, 0, true), first);
    assertEquals(0, allowed(slots("b", 2, "s")).buckets().get(0).remainingTokens());
    // a repeated call renews its slot
    assertFalse(allowed(slots("a", 2, "s")).buckets().get(0).charged());

    Decision.Denied denied = denied(slots("c", 2, "s", "t"));
    assertEquals(0, denied.decidingBucket());
    assertFalse(denied.costExceedsCapacity());
    BucketReply full = denied.buckets().get(0);
    assertTrue(0 < full.retryAfterMicros() && full.retryAfterMicros() <= HOUR_MICROS);
    assertEquals(2, denied.buckets().get(1).remainingTokens());

    assertInstanceOf(Decision.Allowed.class, cache().peek(slots("a", 2, "s")));
    assertInstanceOf(Decision.Denied.class, cache().peek(slots("c", 2, "s")));
    assertTrue(released(slots("a", 2, "s")).charged());
    // a second release and a release without a slot have no effect
    assertFalse(released(slots("a", 2, "s")).charged());
    assertFalse(released(slots("c", 2, "s")).charged());
    assertEquals(1, released(slots("c", 2, "s")).remainingTokens());
    assertInstanceOf(Decision.Allowed.class, cache().peek(slots("c", 2, "s")));
    assertEquals(2, allowed(slots("c", 3, "s", "t")).buckets().get(1).remainingTokens());
  }

  private BucketReply released(Check check) {
    return assertInstanceOf(Decision.Allowed.class, cache().submitRelease(check).join())
        .buckets()
        .get(0);
  }

  @Test
  void take_slotsAndBucket_areTakenTogetherOrNotAtAll() {
    Check withTokens = with(slots("a", 1, "s"), enforced("tokens", 10));
    allowed(withTokens);
    assertEquals(
        1,
        denied(with(slots("b", 1, "s", "t"), enforced("tokens", 10)))
            .buckets()
            .get(1)
            .remainingTokens());
    // the bucket has too few tokens, so the other slot stays free
    assertEquals(1, denied(with(slots("b", 1, "t"), enforced("tokens", 10))).decidingBucket());
    assertEquals(0, allowed(slots("c", 1, "t")).buckets().get(0).remainingTokens());
  }

  private static Check with(Check slots, BucketRequest bucket) {
    List<BucketRequest> all = new ArrayList<>(slots.buckets());
    all.add(bucket);
    return slots.of(all);
  }

  @Test
  void renewal_ofAClaimThatIsOver_keepsASlotThatIsHeld_andTakesNone() {
    Decision.Allowed taken = allowed(slots("a", 1, "s"));
    Check over = slots("a", 1, "s");
    Check renewal = new Check(over.buckets(), 1, SlotClaim.of("contract", "a").until(1));
    assertEquals(HOUR_MICROS, allowed(renewal).buckets().get(0).resetMicros());
    released(over);
    assertEquals(1, denied(renewal).buckets().get(0).retryAfterMicros());
    long later = taken.decidedAtEpochMicros() + HOUR_MICROS;
    allowed(new Check(over.buckets(), 1, SlotClaim.of("contract", "a").until(later)));
  }

  @Test
  void take_quotaAndBucket_areChargedTogetherOrNotAtAll() {
    allowed(check(4, quota("q", 5), enforced("a", 10)));

    Decision.Denied decision = denied(check(2, enforced("a", 10), quota("q", 5)));
    assertEquals(1, decision.decidingBucket());
    assertEquals(6, decision.buckets().get(0).remainingTokens());
    allowed(check(6, enforced("a", 10)));
    assertEquals(0, denied(check(1, enforced("a", 10), quota("q", 5))).decidingBucket());
    assertEquals(1, allowed(check(1, quota("q", 5))).buckets().get(0).chargedTokens() - 4);
  }

  @Test
  void take_quotaChangesWhileItRuns_countsWhatWasUsed() {
    allowed(check(70, quota("q", 100)));

    assertEquals(49, allowed(check(1, quota("q", 120))).buckets().get(0).remainingTokens());
    BucketReply owing = denied(check(1, quota("q", 60))).buckets().get(0);
    assertEquals(0, owing.remainingTokens());
    assertEquals(71, owing.chargedTokens());
    assertEquals(28, allowed(check(1, quota("q", 100))).buckets().get(0).remainingTokens());
  }

  @Test
  void take_quotaPastItsPeriod_keepsItsState() {
    endsAt = nowEpochMicros() - HOUR_MICROS;
    allowed(check(3, quota("q", 4)));

    BucketReply reply = denied(check(2, quota("q", 4))).buckets().get(0);
    assertEquals(1, reply.remainingTokens());
    assertEquals(1, reply.retryAfterMicros());
    assertEquals(4, allowed(check(1, quota("q", 4))).buckets().get(0).chargedTokens());
  }

  @Test
  void take_coldCache_leavesHeldBucketsUndecided_andDecidesOthers() {
    setWarm(true);
    allowed(check(1, quota("q", 10, true), enforced("a", 10)));
    setWarm(false);

    Check held = check(1, enforced("a", 10), quota("q", 10, true));
    for (Decision decision : List.of(cache().take(held), cache().peek(held))) {
      assertEquals(
          Decision.Cause.COLD, assertInstanceOf(Decision.Undecided.class, decision).cause());
    }
    assertEquals(8, allowed(check(1, quota("q", 10))).buckets().get(0).remainingTokens());
    BucketRequest shadow = new BucketRequest(prefix + "q", new QuotaLimit(10, endsAt), false, true);
    assertEquals(7, allowed(check(1, shadow)).buckets().get(0).remainingTokens());
    setWarm(true);
    Decision.Allowed later = allowed(held);
    assertEquals(8, later.buckets().get(0).remainingTokens());
    assertEquals(6, later.buckets().get(1).remainingTokens());
  }

  @Test
  void take_manyThreadsOnOneBucket_admitsExactlyTheCapacity() throws Exception {
    int capacityTokens = 500;
    ExecutorService threads = Executors.newFixedThreadPool(16);
    try {
      List<Future<Integer>> admitted = new ArrayList<>();
      for (int thread = 0; thread < 16; thread++) {
        admitted.add(
            threads.submit(
                () -> {
                  int count = 0;
                  for (int i = 0; i < 100; i++) {
                    Decision decision = cache().take(check(1, enforced("hot", capacityTokens)));
                    count +=
                        assertInstanceOf(Decision.Decided.class, decision)
                                instanceof Decision.Allowed
                            ? 1
                            : 0;
                  }
                  return count;
                }));
      }

      int total = 0;
      for (Future<Integer> count : admitted) {
        total += count.get();
      }
      assertEquals(capacityTokens, total);
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void check_runningCache_isOk() throws Exception {
    // repeated, because a health check times out after one second, and a busy machine may need
    // longer
    Await.until(() -> cache().check().detail(), () -> cache().check().ok());
  }

  @Test
  void take_closedCache_isUndecided() {
    cache().close();

    Decision.Undecided decision =
        assertInstanceOf(Decision.Undecided.class, cache().take(check(1, enforced("a", 10))));
    assertEquals(Decision.Cause.UNAVAILABLE, decision.cause());
    assertFalse(cache().check().ok());
  }

  @Test
  void check_sameBucketTwice_isRefusedWhereItIsBuilt() {
    assertThrows(
        IllegalArgumentException.class, () -> check(1, enforced("a", 10), enforced("a", 11)));
  }
}
