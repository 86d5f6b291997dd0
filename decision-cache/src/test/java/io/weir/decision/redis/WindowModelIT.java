// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketState;
import io.weir.limits.ClientCalendar;
import io.weir.limits.KeptBuckets;
import io.weir.limits.LogState;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.SlidingLog;
import io.weir.limits.SlidingWindow;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.CheckDecider.LogWrite;
import io.weir.limits.check.CheckDecider.Outcome;
import io.weir.limits.check.CheckDecider.Write;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.SuiteForm;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Compares sliding windows in the script in Redis with the arithmetic in Java, for all sizes and
 * numbers of sub-windows, changing limits, clock steps and late nodes.
 */
class WindowModelIT {
  private static final long FIRST_SEED = Long.getLong("weir.test.seed", 1);
  private static final int SEEDS = SuiteForm.isFull() ? 400 : 100;
  private static final int STEPS = 40;
  private static final int WINDOWS = 3;
  private static final int LOGS = 2;

  @Test
  void script_randomWindowsAndClocks_agreesWithTheReference() throws Exception {
    int allowed = 0;
    int denied = 0;
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
        Run run = new Run(runner, seed);
        run.play();
        allowed += run.allowed;
        denied += run.denied;
      }
    }
    assertTrue(allowed > 10 * SEEDS, "allowed " + allowed);
    assertTrue(denied > 10 * SEEDS, "denied " + denied);
  }

  private static final long NOW = 1_800_000_000_000_000L;

  /** A log of five calls of cost 1. Another value replaces the second newest call. */
  private static void logWith(ScriptRunner runner, String key, byte[] second) {
    for (int i = 1; i <= 5; i++) {
      runner.redis().rpush(ScriptRunner.bytes(key), i == 4 ? second : call(NOW - 10 + i, i));
    }
  }

  private static byte[] call(long atMicros, long sum) {
    // i56, i16, i56
    return ByteBuffer.allocate(16)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(atMicros | 1L << 56)
        .putLong(sum << 8)
        .array();
  }

  /** The binary search does not read every element. */
  @Test
  void logWithAnElementThatIsNoCall_isLeftAsItIs_andFailsNoOtherCheck() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      Check log =
          new Check(
              List.of(new BucketRequest("odd:{1}@log", new SlidingLog(5, 1_000_000), true)), 1);
      logWith(runner, "odd:{1}@log", ScriptRunner.bytes("foreign"));
      runner.setClock(NOW);
      runner.setWarm(true);
      List<String> before = runner.dump(log);

      runner.giveBack(log);
      assertEquals(before, runner.dump(log));
      Check four = new Check(log.buckets(), 4);
      Check other =
          new Check(
              List.of(new BucketRequest("odd:{1}", new TokenBucketLimit(5, 1, 1_000_000), true)),
              1);
      List<Decision> decisions =
          runner.decide(List.of(four, other, log), List.of(false, false, true));
      assertEquals(Decision.Cause.CORRUPT, ((Decision.Undecided) decisions.get(0)).cause());
      assertInstanceOf(Decision.Allowed.class, decisions.get(1));
      assertInstanceOf(Decision.Denied.class, decisions.get(2));
      assertEquals(before, runner.dump(log));
    }
  }

  @Test
  void logWhoseCallsAreOutOfOrder_admitsNothing() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      logWith(runner, "odd:{2}@log", call(NOW - 5_000_000, 4));
      runner.setClock(NOW);
      runner.setWarm(true);
      Check four =
          new Check(
              List.of(new BucketRequest("odd:{2}@log", new SlidingLog(5, 1_000_000), true)), 4);

      assertEquals(Decision.Cause.CORRUPT, ((Decision.Undecided) runner.take(four)).cause());
    }
  }

  /** The maximum number of keys of a check. */
  @Test
  void checkOfSixteenWindowsOfSixtySubWindows_countsAllOfThem() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      SlidingWindow window = new SlidingWindow(120, 60, 60);
      runner.setWarm(true);
      for (long second = 0; second <= 60; second++) {
        long now = NOW + second * 1_000_000;
        runner.setClock(now);
        PeriodicLimit.Span span = window.at(now / 1_000, ClientCalendar.OF_POLICY);
        List<BucketRequest> buckets = new ArrayList<>();
        for (int i = 0; i < Check.MAX_BUCKETS; i++) {
          buckets.add(
              new BucketRequest(
                  "many:{1}:" + i + "@" + span.endEpochSecond(), window.in(span), true));
        }
        Decision decision = runner.take(new Check(buckets, 2));

        if (second < 60) {
          BucketReply last = ((Decision.Allowed) decision).buckets().get(Check.MAX_BUCKETS - 1);
          assertEquals(118 - 2 * second, last.remainingTokens());
        } else {
          Decision.Denied denied = assertInstanceOf(Decision.Denied.class, decision);
          assertEquals(1_000_000, denied.buckets().get(0).retryAfterMicros());
        }
      }
    }
  }

  private static final long DAY_MICROS = 86_400_000_000L;

  private static final class Run implements KeptBuckets {
    private final ScriptRunner runner;
    private final long seed;
    private final Random random;
    private final List<SlidingWindow> windows = new ArrayList<>();
    private final List<SlidingLog> logLimits = new ArrayList<>();
    private final Map<String, BucketState> model = new HashMap<>();
    private final Map<String, LogState> logs = new HashMap<>();
    private long now = NOW;
    private int allowed;
    private int denied;

    Run(ScriptRunner runner, long seed) {
      this.runner = runner;
      this.seed = seed;
      this.random = new Random(seed);
      for (int i = 0; i < WINDOWS; i++) {
        windows.add(window());
      }
      for (int i = 0; i < LOGS; i++) {
        logLimits.add(log());
      }
    }

    @Override
    public @Nullable BucketState state(String bucket) {
      return model.get(bucket);
    }

    @Override
    public @Nullable LogState log(String bucket) {
      return logs.get(bucket);
    }

    private SlidingLog log() {
      return new SlidingLog(1 + random.nextInt(20), 1 + random.nextLong(10_000_000));
    }

    private SlidingWindow window() {
      int subWindows = random.nextInt(4) == 0 ? 1 + random.nextInt(60) : 1 + random.nextInt(4);
      long most = random.nextInt(4) == 0 ? 366L * 86_400 / subWindows : 5;
      long length = subWindows * random.nextLong(1, most + 1);
      return new SlidingWindow(capacity(), length, subWindows);
    }

    /**
     * Returns a small limit, so that calls are denied, or a limit near the maximum that can be
     * weighted.
     */
    private long capacity() {
      return random.nextInt(5) == 0
          ? random.nextLong(1, 1L << (8 + random.nextInt(21)))
          : 1 + random.nextInt(30);
    }

    void play() throws Exception {
      for (int step = 0; step < STEPS; step++) {
        String where = "weir.test.seed=" + seed + " step " + step + " now " + now;
        if (random.nextInt(12) == 0) {
          int changed = random.nextInt(WINDOWS);
          windows.set(changed, windows.get(changed).withCapacity(capacity()));
          logLimits.set(random.nextInt(LOGS), log());
        }
        List<Check> checks = new ArrayList<>();
        List<Boolean> peeks = new ArrayList<>();
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
          checks.add(check());
          peeks.add(random.nextInt(5) == 0);
        }
        runner.setClock(now);
        runner.setWarm(true);
        List<Decision> decisions = runner.decide(checks, peeks);
        Map<String, Long> written = new HashMap<>();
        for (int i = 0; i < checks.size(); i++) {
          Outcome expected = CheckDecider.decide(checks.get(i), peeks.get(i), true, now, this);
          assertEquals(
              expected.decision(), decisions.get(i), where + " check " + i + ": " + checks.get(i));
          expected.restarts().forEach(each -> model.put(each.bucket(), each.state()));
          for (Write write : expected.writes()) {
            model.put(write.bucket(), write.state());
            written.put(write.bucket(), write.ttlMillis());
          }
          for (LogWrite write : expected.logs()) {
            logs.put(write.bucket(), write.log());
            written.put(write.bucket(), write.ttlMillis());
          }
          allowed += expected.decision() instanceof Decision.Allowed ? 1 : 0;
          denied += expected.decision() instanceof Decision.Denied ? 1 : 0;
        }
        written.forEach((bucket, ttlMillis) -> requireKept(bucket, ttlMillis, where));
        if (random.nextInt(4) == 0) {
          giveBack(checks, decisions, peeks, where);
        }
        step(windows.get(random.nextInt(WINDOWS)));
      }
    }

    private void requireKept(String bucket, long ttlMillis, String where) {
      if (random.nextInt(8) == 0) { // one more reply to wait for
        long shorterMillis = ttlMillis - runner.ttlMillis(bucket);
        assertTrue(shorterMillis >= 0 && shorterMillis < 9_000, where + " kept " + bucket);
      }
      if (logs.containsKey(bucket)) {
        assertEquals(logs.get(bucket), runner.log(bucket), where);
      } else {
        assertEquals(model.get(bucket), runner.state(bucket), where);
      }
    }

    /** Gives back the cost of a call. The buckets must then hold exactly the cost more. */
    private void giveBack(
        List<Check> checks, List<Decision> decisions, List<Boolean> peeks, String where) {
      int last = checks.size() - 1;
      Check check = checks.get(last);
      if (!(decisions.get(last) instanceof Decision.Allowed allowed)
          || peeks.get(last)
          || !allowed.buckets().stream().allMatch(BucketReply::charged)) {
        return;
      }
      runner.giveBack(check);
      Decision.Decided now = (Decision.Decided) runner.peek(check);
      for (int i = 0; i < check.buckets().size(); i++) {
        BucketRequest request = check.buckets().get(i);
        assertEquals(
            allowed.buckets().get(i).remainingTokens() + check.cost(),
            now.buckets().get(i).remainingTokens(),
            where + " given back: " + request);
        if (request.limit() instanceof SlidingLog) {
          logs.put(request.bucket(), runner.log(request.bucket()));
        } else {
          model.put(request.bucket(), runner.state(request.bucket()));
        }
      }
    }

    private void step(SlidingWindow of) {
      long sub = of.subWindowSeconds() * 1_000_000;
      long ahead =
          switch (random.nextInt(8)) {
            case 0 -> random.nextLong(2 * of.lengthSeconds() * 1_000_000);
            case 1 -> sub - now % sub - random.nextInt(3); // around the boundary
            case 2 -> -random.nextLong(sub); // the clock steps back
            case 3 -> random.nextInt(5) == 0 ? random.nextLong(-DAY_MICROS, DAY_MICROS) : 0;
            default -> random.nextLong(sub);
          };
      now += ahead;
    }

    private Check check() {
      List<BucketRequest> buckets = new ArrayList<>();
      for (int i = 0; i < WINDOWS; i++) {
        if (random.nextInt(3) > 0) {
          buckets.add(sliding(i));
        }
      }
      for (int i = 0; i < LOGS; i++) {
        if (random.nextInt(4) == 0) {
          buckets.add(
              new BucketRequest(
                  "model:{" + seed + "}:log" + i + "@log",
                  logLimits.get(i),
                  random.nextInt(5) != 0));
        }
      }
      if (buckets.isEmpty() || random.nextInt(4) == 0) {
        buckets.add(
            random.nextInt(buckets.size() + 1),
            new BucketRequest(
                "model:{" + seed + "}:tokens",
                new TokenBucketLimit(40, 3, 1_000_000),
                random.nextInt(4) != 0));
      }
      return new Check(buckets, 1 + random.nextInt(4));
    }

    private BucketRequest sliding(int index) {
      SlidingWindow window = windows.get(index);
      // the clock of a node may differ
      long late = random.nextInt(5) == 0 ? random.nextLong(-3_000, 3_000) : 0;
      PeriodicLimit.Span span = window.at(now / 1_000 + late, ClientCalendar.OF_POLICY);
      return new BucketRequest(
          "model:{" + seed + "}:" + index + "@" + span.endEpochSecond(),
          window.in(span),
          random.nextInt(5) != 0);
    }
  }
}
