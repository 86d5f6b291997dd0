// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.cluster.SlotHash;
import io.weir.limits.BucketKey;
import io.weir.limits.BucketState;
import io.weir.limits.TokenBucket;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Tests for known bugs of other rate limiters, with the script in Redis. Each test is named after
 * the bug.
 */
class PeerBugsIT {
  private static final long T0 = 1_800_000_000_000_000L;
  private static final long SECOND = 1_000_000;

  /** Time for which the script keeps a bucket after it is full. */
  private static final long TTL_MARGIN_MILLIS = 10_000;

  private static final TokenBucketLimit TEN_PER_SECOND = new TokenBucketLimit(10, 10, SECOND);

  private static TestRedis redis;
  private static ScriptRunner runner;

  @BeforeAll
  static void start() {
    redis = TestRedis.borrow();
    runner = new ScriptRunner(redis.uri());
  }

  @AfterAll
  static void stop() {
    runner.close();
    redis.close();
  }

  @BeforeEach
  void forgetAll() {
    runner.redis().flushall();
    runner.setClock(T0);
  }

  private static BucketRequest bucket(String name, TokenBucketLimit limit) {
    return new BucketRequest(name, limit, true);
  }

  private static Check check(long cost, BucketRequest... buckets) {
    return new Check(List.of(buckets), cost);
  }

  private static Decision.Allowed allowed(Check check) {
    return assertInstanceOf(Decision.Allowed.class, runner.take(check));
  }

  private static Decision.Denied denied(Check check) {
    return assertInstanceOf(Decision.Denied.class, runner.take(check));
  }

  @Test
  void callersClockRefillsABucketOnADeny_manyDenies_stateIsBitIdentical() {
    Check nine = check(9, bucket("a", TEN_PER_SECOND), bucket("b", TEN_PER_SECOND));
    allowed(nine);
    List<String> before = runner.dump(nine);

    for (int i = 0; i < 50; i++) {
      runner.setClock(T0 + i * 1_000L);
      denied(nine);
    }
    assertEquals(before, runner.dump(nine));
  }

  @Test
  void peekWrites_fullAndUsedBucket_stateIsBitIdentical() {
    Check one = check(1, bucket("a", TEN_PER_SECOND));
    runner.peek(one);
    assertEquals(List.of("none"), runner.dump(one));
    allowed(one);
    List<String> before = runner.dump(one);

    runner.setClock(T0 + SECOND);
    assertInstanceOf(Decision.Allowed.class, runner.peek(one));
    assertEquals(before, runner.dump(one));
  }

  @Test
  void deniedNewBucketLeavesAKey_costAboveCapacity_keepsNothing() {
    Check tooMuch = check(11, bucket("a", TEN_PER_SECOND));
    denied(tooMuch);

    assertEquals(List.of("none"), runner.dump(tooMuch));
  }

  @Test
  void ttlShorterThanRefill_emptyBucket_livesUntilItIsFull() {
    TokenBucketLimit daily = new TokenBucketLimit(3, 1, 86_400 * SECOND);
    long beganNanos = System.nanoTime();
    BucketReply reply = allowed(check(3, bucket("a", daily))).buckets().get(0);

    assertEquals(3 * 86_400 * SECOND, reply.resetMicros());
    TimeToLive.setAfter(beganNanos, 3 * 86_400 * 1_000L + TTL_MARGIN_MILLIS)
        .assertIs(runner.ttlMillis("a"), "a");
  }

  @Test
  void ttlRoundedToZero_bucketThatFillsInAMicrosecond_hasATtl() {
    long beganNanos = System.nanoTime();
    allowed(check(1, bucket("a", new TokenBucketLimit(1, 1, 1))));

    TimeToLive.setAfter(beganNanos, 1 + TTL_MARGIN_MILLIS).assertIs(runner.ttlMillis("a"), "a");
  }

  @Test
  void keyWithoutTtl_largestFillTime_expiresAllTheSame() {
    TokenBucketLimit slow =
        new TokenBucketLimit(100_000_000, 1, TokenBucketLimit.MAX_PERIOD_MICROS);
    allowed(check(100_000_000, bucket("a", slow)));

    assertTrue(runner.ttlMillis("a") > 140L * 365 * 86_400 * 1_000);
  }

  @Test
  void burstAfterIdleAboveCapacity_yearsLater_admitsTheCapacityOnly() {
    allowed(check(10, bucket("a", TEN_PER_SECOND)));

    runner.setClock(T0 + 5L * 365 * 86_400 * SECOND);
    allowed(check(10, bucket("a", TEN_PER_SECOND)));
    denied(check(1, bucket("a", TEN_PER_SECOND)));
  }

  @Test
  void fractionDropped_manyCallsBetweenTokens_gainsEveryToken() {
    TokenBucketLimit threePerSecond = new TokenBucketLimit(3, 3, SECOND);
    allowed(check(3, bucket("a", threePerSecond)));
    runner.redis().persist(ScriptRunner.bytes("a"));

    int admitted = 0;
    for (int i = 1; i <= 10_000; i++) {
      runner.setClock(T0 + i * 1_000L);
      if (runner.take(check(1, bucket("a", threePerSecond))) instanceof Decision.Allowed) {
        admitted++;
        // the bucket expires by Redis' own clock, which may be ahead of the clock of the test
        runner.redis().persist(ScriptRunner.bytes("a"));
      }
    }
    assertEquals(30, admitted);
  }

  @Test
  void floatRepliesTruncated_largestNumbers_comeBackExactly() {
    long most = TokenBucketLimit.EXACT_BELOW - 2;
    TokenBucketLimit limit = new TokenBucketLimit(most, 1, 1);
    Decision.Allowed decision = allowed(check(most - 1, bucket("a", limit)));

    assertEquals(
        new BucketReply(true, 1, TokenBucket.MAX_WAIT_MICROS, 0, T0, 0, most - 1, true),
        decision.buckets().get(0));
    assertEquals(T0, decision.decidedAtEpochMicros());
    assertEquals(new BucketState(1, 1, T0, T0, 0, 0, most - 1), runner.state("a"));
  }

  @Test
  void floatRepliesTruncated_clockWithAllItsDigits_comesBackExactly() {
    runner.setClock(1_834_567_890_123_457L);

    Decision.Allowed decision = allowed(check(1, bucket("a", TEN_PER_SECOND)));
    assertEquals(1_834_567_890_123_457L, decision.decidedAtEpochMicros());
    assertEquals(1_834_567_890_123_457L, decision.buckets().get(0).epoch());
  }

  @Test
  void incrbyOverflowFailsOpen_largestCosts_areDenied() {
    for (long cost : new long[] {1L << 53, (1L << 53) + 1, Long.MAX_VALUE - 1, Long.MAX_VALUE}) {
      Decision.Denied decision = denied(check(cost, bucket("a", TEN_PER_SECOND)));
      assertTrue(decision.costExceedsCapacity());
      assertEquals(-1, decision.buckets().get(0).retryAfterMicros());
    }
  }

  @Test
  void incrbyOverflowFailsOpen_cumulativeChargeAtItsEnd_beginsANewEpoch() {
    long most = TokenBucketLimit.EXACT_BELOW - 1;
    runner.put("a", new BucketState(1_000_000, 100_000, T0, T0, 0, 0, most));

    BucketReply reply = allowed(check(4, bucket("a", TEN_PER_SECOND))).buckets().get(0);
    assertEquals(T0 + 1, reply.epoch());
    assertEquals(4, reply.chargedTokens());
  }

  @Test
  void retryAfterRoundedDown_threePerSecond_succeedsThenAndNotBefore() {
    TokenBucketLimit threePerSecond = new TokenBucketLimit(3, 3, SECOND);
    Check one = check(1, bucket("a", threePerSecond));
    allowed(check(3, bucket("a", threePerSecond)));
    long retryAfterMicros = denied(one).buckets().get(0).retryAfterMicros();

    assertEquals(333_334, retryAfterMicros);
    runner.setClock(T0 + retryAfterMicros - 1);
    assertEquals(1, denied(one).buckets().get(0).retryAfterMicros());
    runner.setClock(T0 + retryAfterMicros);
    allowed(one);
  }

  @Test
  void clockStepsBack_callsGoOn_nothingIsRefilledTwice() {
    allowed(check(10, bucket("a", TEN_PER_SECOND)));
    runner.setClock(T0 + SECOND / 2);
    allowed(check(5, bucket("a", TEN_PER_SECOND)));

    runner.setClock(T0);
    assertEquals(
        600_000, denied(check(1, bucket("a", TEN_PER_SECOND))).buckets().get(0).retryAfterMicros());
    runner.setClock(T0 + SECOND / 2);
    denied(check(1, bucket("a", TEN_PER_SECOND)));
  }

  @Test
  void clockStepsFarBack_bucketIsNotFrozenUntilTheClockCatchesUp() {
    allowed(check(10, bucket("a", TEN_PER_SECOND)));

    runner.setClock(T0 - 86_400 * SECOND);
    assertEquals(
        100_000, denied(check(1, bucket("a", TEN_PER_SECOND))).buckets().get(0).retryAfterMicros());
    runner.setClock(T0 - 86_400 * SECOND + 100_000);
    allowed(check(1, bucket("a", TEN_PER_SECOND)));
  }

  @Test
  void clockStepsFarBack_onlyDenialsFollow_bucketRefillsAtItsRate() {
    allowed(check(10, bucket("a", TEN_PER_SECOND)));
    long back = T0 - 7_200 * SECOND;
    runner.setClock(back);
    long ttlMillis = runner.ttlMillis("a");

    for (int i = 0; i < 10; i++) {
      runner.setClock(back + i * 100_000L);
      denied(check(10, bucket("a", TEN_PER_SECOND)));
    }
    assertEquals(
        new BucketState(0, 100_000, back, T0, 0, 0, 10), Objects.requireNonNull(runner.state("a")));
    assertTrue(runner.ttlMillis("a") <= ttlMillis, "a denial must not prolong the expiry");
    runner.setClock(back + SECOND);
    allowed(check(10, bucket("a", TEN_PER_SECOND)));
  }

  @Test
  void clockStepsFarBack_denialByAnotherLimit_changesTheTimeOnly() {
    allowed(check(10, bucket("a", TEN_PER_SECOND)));
    long back = T0 - 7_200 * SECOND;
    runner.setClock(back);

    denied(check(3, bucket("a", new TokenBucketLimit(2, 7, SECOND))));
    assertEquals(
        new BucketState(0, 100_000, back, T0, 0, 0, 10), Objects.requireNonNull(runner.state("a")));
  }

  @Test
  void clockStepsFarBack_peekAndColdCheck_writeNothing() {
    allowed(check(10, bucket("a", TEN_PER_SECOND)));
    Check held = check(1, new BucketRequest("a", TEN_PER_SECOND, true, true));
    List<String> before = runner.dump(held);
    runner.setClock(T0 - 7_200 * SECOND);

    runner.peek(held);
    assertEquals(before, runner.dump(held));
    runner.setWarm(false);
    assertInstanceOf(Decision.Undecided.class, runner.take(held));
    assertEquals(before, runner.dump(held));
  }

  @Test
  void bracesInIdsMoveTheSlot_allBucketsOfACall_shareOne() {
    for (String client : List.of("acme", "{acme}", "}{", "{}", "a{b}c", "é", "x".repeat(256))) {
      int slot = SlotHash.getSlot(BucketKey.of("burst", client).text());
      assertEquals(slot, SlotHash.getSlot(BucketKey.of("{other}", client).text()));
      assertEquals(slot, SlotHash.getSlot(BucketKey.of("{p}", client, "GET /{id}").text()));
    }
  }

  @Test
  void pipelineErrorsUnseen_oneValueIsNotOurs_onlyItsCheckIsCorrupt() {
    runner.redis().set(ScriptRunner.bytes("text"), ScriptRunner.bytes("not a bucket"));
    runner.redis().lpush(ScriptRunner.bytes("list"), ScriptRunner.bytes("x"));
    BucketState healthy = new BucketState(500_000, 100_000, T0, T0, 0, 0, 5);
    runner.put("other-version", healthy);
    runner.redis().setrange(ScriptRunner.bytes("other-version"), 0, new byte[] {9});
    runner.put("negative", healthy);
    runner.redis().setrange(ScriptRunner.bytes("negative"), 16, new byte[] {(byte) 0xff});
    runner.redis().set(ScriptRunner.bytes("first-form"), new byte[41]);
    List<Check> checks = new ArrayList<>();
    for (String bad : List.of("text", "list", "other-version", "negative", "first-form")) {
      checks.add(check(1, bucket("good-" + bad, TEN_PER_SECOND), bucket(bad, TEN_PER_SECOND)));
      checks.add(check(1, bucket("good", TEN_PER_SECOND)));
    }

    List<Decision> decisions = runner.decide(checks, Collections.nCopies(checks.size(), false));
    for (int i = 0; i < decisions.size(); i += 2) {
      Decision.Undecided corrupt =
          assertInstanceOf(Decision.Undecided.class, decisions.get(i), "check " + i);
      assertEquals(Decision.Cause.CORRUPT, corrupt.cause());
      assertEquals("none", runner.dump(checks.get(i)).get(0));
      assertInstanceOf(Decision.Allowed.class, decisions.get(i + 1));
    }
    assertEquals(5, Objects.requireNonNull(runner.state("good")).chargedTokens());
    assertArrayEquals(
        ScriptRunner.bytes("not a bucket"), runner.redis().get(ScriptRunner.bytes("text")));
  }

  @Test
  void shadowRuleShortCircuitsEnforcedOnes_emptyShadowFirst_enforcedOneStillDenies() {
    BucketRequest shadow = new BucketRequest("shadow", TEN_PER_SECOND, false);
    allowed(check(10, shadow));
    allowed(check(10, bucket("real", TEN_PER_SECOND)));

    Decision.Denied decision = denied(check(1, shadow, bucket("real", TEN_PER_SECOND)));
    assertEquals(1, decision.decidingBucket());
  }

  @Test
  void sameBucketTwiceInOneCall_lastTokens_areGivenOnce() {
    Check six = check(6, bucket("a", TEN_PER_SECOND));

    List<Decision> decisions = runner.decide(List.of(six, six, six), List.of(true, false, false));
    assertInstanceOf(Decision.Allowed.class, decisions.get(0));
    assertInstanceOf(Decision.Allowed.class, decisions.get(1));
    assertInstanceOf(Decision.Denied.class, decisions.get(2));
    assertEquals(400_000, Objects.requireNonNull(runner.state("a")).units());
  }

  @Test
  void callerSetsTheClock_scriptAsDelivered_readsTheServersAlone() {
    String body = RedisScript.takeTokens().body();

    assertTrue(body.contains("redis.call('TIME')"));
    assertFalse(body.contains("clock-seconds"));
  }
}
