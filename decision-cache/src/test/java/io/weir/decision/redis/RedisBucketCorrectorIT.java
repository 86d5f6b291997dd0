// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.BucketCorrectorContract;
import io.weir.decision.DecisionCache;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the contract of correctors with Redis, and the behaviour while Redis is unavailable. */
@CoreSuite
class RedisBucketCorrectorIT extends BucketCorrectorContract {
  private static TestRedis redis;
  private RedisDecisionCache cache;
  private RedisBucketCorrector corrector;

  @BeforeAll
  static void borrowRedis() {
    redis = TestRedis.borrow();
  }

  @AfterAll
  static void giveRedisBack() {
    redis.close();
  }

  @BeforeEach
  void start() {
    RedisCacheConfig config = PatientConfig.of(redis);
    cache = RedisDecisionCache.start(config);
    corrector = RedisBucketCorrector.start(config);
  }

  @AfterEach
  void close() {
    corrector.close();
    cache.close();
  }

  @Override
  protected BucketCorrector corrector() {
    return corrector;
  }

  @Override
  protected DecisionCache cache() {
    return cache;
  }

  @Override
  protected long nowEpochMicros() {
    return System.currentTimeMillis() * 1_000;
  }

  private static BoundedCorrection correction(String bucket) {
    TokenBucketLimit limit = new TokenBucketLimit(10, 1, 3_600_000_000L);
    long now = System.currentTimeMillis() * 1_000;
    return new BoundedCorrection(
        new Correction(
            bucket,
            limit,
            now,
            1,
            1,
            now + 3_600_000_000L,
            1,
            0,
            Correction.Cause.RESTORE,
            1,
            2,
            0),
        10);
  }

  @Test
  void apply_foreignValue_isCorruptAndLeftUnchanged() throws Exception {
    byte[] text = ScriptRunner.bytes("not a bucket");
    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.redis().set(ScriptRunner.bytes("text"), text);
      runner.redis().lpush(ScriptRunner.bytes("list"), text);

      List<CorrectionOutcome> outcomes =
          corrector.apply(List.of(correction("text"), correction("good"), correction("list")));
      assertEquals(
          List.of(Kind.CORRUPT, Kind.CREATED, Kind.CORRUPT),
          outcomes.stream().map(CorrectionOutcome::kind).toList());
      assertArrayEquals(text, runner.redis().get(ScriptRunner.bytes("text")));
      assertEquals(
          "list", runner.redis().type(ScriptRunner.bytes("list")).toLowerCase(Locale.ROOT));
      assertTrue(runner.redis().pttl(ScriptRunner.bytes("good")) > 3_600_000);
    }
  }

  @Test
  void apply_scriptsFlushed_loadsAndApplies() throws Exception {
    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.redis().scriptFlush();
    }

    assertEquals(Kind.CREATED, corrector.apply(List.of(correction("after-flush"))).get(0).kind());
  }

  @Test
  void apply_twoCorrectorsDuringCalls_newestCountsOnceAndNoChargeIsLost() throws Exception {
    QuotaLimit quota = new QuotaLimit(1_000_000, nowEpochMicros() + 3_600_000_000L);
    Check one = new Check(List.of(new BucketRequest("w1:{two}:quota", quota, true)), 1);
    long epoch = charge(one).epoch();
    ExecutorService threads = Executors.newFixedThreadPool(6);
    try (RedisBucketCorrector second = RedisBucketCorrector.start(PatientConfig.of(redis))) {
      List<Future<?>> runs = new ArrayList<>();
      for (RedisBucketCorrector each : List.of(corrector, second)) {
        List<BoundedCorrection> history = new ArrayList<>();
        for (long version = 1; version <= 50; version++) {
          Correction truth =
              new Correction(
                  "w1:{two}:quota",
                  quota,
                  epoch,
                  version,
                  1,
                  quota.endsAtEpochMicros(),
                  version * 10,
                  0,
                  Correction.Cause.UNSTAMPED,
                  1,
                  2,
                  0);
          history.addAll(
              List.of(new BoundedCorrection(truth, 10), new BoundedCorrection(truth, 10)));
        }
        Collections.shuffle(history, new Random(runs.size()));
        runs.add(
            threads.submit(
                () -> {
                  for (BoundedCorrection truth : history) {
                    each.apply(List.of(truth));
                  }
                  return null;
                }));
      }
      for (int i = 0; i < 4; i++) {
        runs.add(
            threads.submit(
                () -> {
                  for (int call = 0; call < 200; call++) {
                    charge(one);
                  }
                }));
      }
      for (Future<?> run : runs) {
        run.get();
      }
    } finally {
      threads.shutdownNow();
    }

    BucketReply reply = charge(one);
    assertEquals(50, reply.version());
    assertEquals(802, reply.chargedTokens());
    assertEquals(1_000_000 - 500 - 801, reply.remainingTokens());
  }

  private BucketReply charge(Check check) {
    return assertInstanceOf(Decision.Allowed.class, cache.take(check)).buckets().get(0);
  }

  @Test
  void apply_serverDownOrHangs_timesOutAndRecovers() throws Exception {
    try (TestRedis own = TestRedis.start();
        RedisBucketCorrector alone =
            RedisBucketCorrector.start(
                RedisCacheConfig.of(own.uri())
                    .withConnectionTimeouts(Duration.ofSeconds(1), Duration.ofMinutes(1)))) {
      List<BoundedCorrection> corrections = List.of(correction("a"));
      Await.until("a connection", () -> answers(alone, corrections));

      own.pause();
      long beganNanos = System.nanoTime();
      CacheUnavailableException failed =
          assertThrows(CacheUnavailableException.class, () -> alone.apply(corrections));
      long millis = (System.nanoTime() - beganNanos) / 1_000_000;
      assertEquals("no reply for 1000 ms", failed.getMessage());
      assertTrue(millis >= 900, () -> millis + " ms");
      own.resume();
      Await.until("a connection", () -> answers(alone, corrections));
      own.kill();
      Await.until("the loss to be seen", () -> !answers(alone, corrections));
      own.restart();
      Await.until("a connection", () -> answers(alone, corrections));
    }
  }

  private static boolean answers(
      RedisBucketCorrector corrector, List<BoundedCorrection> corrections) {
    try {
      return corrector.apply(corrections).size() == corrections.size();
    } catch (CacheUnavailableException away) {
      return false;
    }
  }
}
