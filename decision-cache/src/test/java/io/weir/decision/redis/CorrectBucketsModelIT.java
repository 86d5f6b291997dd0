// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.EdgeNumbers;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.CheckDecider.Write;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import io.weir.limits.correction.CorrectionRule;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.SuiteForm;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Compares the correction script in Redis with the rule in Java, with calls between corrections.
 * All outcomes and states must be equal.
 */
class CorrectBucketsModelIT {
  private static final long FIRST_SEED = Long.getLong("weir.test.seed", 1);
  private static final int SEEDS = SuiteForm.isFull() ? 400 : 100;
  private static final int STEPS = 25;
  private static final int BUCKETS = 4;
  private static final long FIRST_NOW = 1_800_000_000_000_000L;

  @Test
  void script_randomCorrectionsAndCalls_agreesWithTheRule() throws Exception {
    Map<Kind, Integer> seen = new EnumMap<>(Kind.class);
    int clamped = 0;
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.setWarm(true);
      for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
        Run run = new Run(runner, seed);
        run.play();
        run.outcomes.forEach(outcome -> seen.merge(outcome.kind(), 1, Integer::sum));
        clamped += (int) run.outcomes.stream().filter(CorrectionOutcome::clamped).count();
      }
      assertTrue(runner.shortStates() > SEEDS, () -> "short: " + runner.shortStates());
      assertTrue(runner.longStates() > SEEDS, () -> "long: " + runner.longStates());
    }
    for (Kind kind : List.of(Kind.APPLIED, Kind.CREATED, Kind.STALE, Kind.FULL)) {
      assertTrue(seen.getOrDefault(kind, 0) > SEEDS, () -> "too few to tell: " + seen);
    }
    assertTrue(clamped > SEEDS, "too few were clamped: " + clamped);
  }

  /** Runs one seed with a few buckets under changing limits. */
  private static final class Run {
    private final ScriptRunner runner;
    private final long seed;
    private final EdgeNumbers numbers;
    private final Random random;
    private final List<BucketLimit> limits = new ArrayList<>();
    private final Map<String, BucketState> model = new HashMap<>();
    private final List<CorrectionOutcome> outcomes = new ArrayList<>();
    private long now = FIRST_NOW;

    Run(ScriptRunner runner, long seed) {
      this.runner = runner;
      this.seed = seed;
      this.numbers = new EdgeNumbers(seed);
      this.random = numbers.random();
      for (int i = 0; i < BUCKETS; i++) {
        limits.add(i < 2 ? numbers.limit() : numbers.quota(now));
      }
    }

    void play() throws Exception {
      for (int step = 0; step < STEPS; step++) {
        String where = "weir.test.seed=" + seed + " step " + step + " now " + now;
        runner.setClock(now);
        if (random.nextInt(6) == 0) {
          forgetOrReplace(bucket(random.nextInt(BUCKETS)));
        }
        if (random.nextBoolean()) {
          playCorrections(where);
        } else {
          playCall(where);
        }
        List<String> buckets = IntStream.range(0, BUCKETS).mapToObj(this::bucket).toList();
        List<ScriptRunner.Kept> kept = runner.kept(buckets);
        for (int i = 0; i < BUCKETS; i++) {
          assertEquals(
              model.get(buckets.get(i)), kept.get(i).state(), where + " " + buckets.get(i));
        }
        long stepMicros = numbers.stepMicros(numbers.limit());
        now = Math.max(1, Math.min(now + stepMicros, 1L << 52));
      }
    }

    private void forgetOrReplace(String bucket) {
      if (random.nextBoolean()) {
        runner.redis().del(ScriptRunner.bytes(bucket));
        model.remove(bucket);
      } else {
        BucketState edge = numbers.state(now);
        runner.put(bucket, edge);
        model.put(bucket, edge);
      }
    }

    private void playCorrections(String where) {
      List<BoundedCorrection> corrections = new ArrayList<>();
      for (int i = 1 + random.nextInt(6); i > 0; i--) {
        int index = random.nextInt(BUCKETS);
        String bucket = bucket(index);
        long debtCap = random.nextInt(3) == 0 ? 0 : numbers.upTo(TokenBucketLimit.EXACT_BELOW - 1);
        corrections.add(
            new BoundedCorrection(
                numbers.correction(bucket, limitOf(index), model.get(bucket), now),
                debtCap,
                random.nextInt(4) == 0));
      }
      long beganNanos = System.nanoTime();
      List<CorrectionOutcome> actual = runner.correct(corrections);
      for (int i = 0; i < corrections.size(); i++) {
        BoundedCorrection correction = corrections.get(i);
        String bucket = correction.correction().bucket();
        CorrectionRule.Result expected = CorrectionRule.apply(correction, model.get(bucket), now);
        assertEquals(expected.outcome(), actual.get(i), where + " " + correction);
        if (expected.state() != null) {
          model.put(bucket, expected.state());
          boolean last =
              corrections.subList(i + 1, corrections.size()).stream()
                  .noneMatch(later -> later.correction().bucket().equals(bucket));
          if (last) {
            TimeToLive.setAfter(beganNanos, expected.ttlMillis())
                .assertIs(runner.ttlMillis(bucket), where + " " + bucket);
          }
        }
      }
      outcomes.addAll(actual);
    }

    private void playCall(String where) {
      int index = random.nextInt(BUCKETS);
      BucketLimit limit = limitOf(index);
      Check check =
          new Check(List.of(new BucketRequest(bucket(index), limit, true)), numbers.cost(limit));
      CheckDecider.Outcome expected = CheckDecider.decide(check, false, true, now, model::get);
      assertEquals(expected.decision(), runner.take(check), where + " " + check);
      expected.restarts().forEach(each -> model.put(each.bucket(), each.state()));
      for (Write write : expected.writes()) {
        model.put(write.bucket(), write.state());
      }
    }

    private BucketLimit limitOf(int index) {
      return limits.get(random.nextInt(8) == 0 ? random.nextInt(BUCKETS) : index);
    }

    private String bucket(int index) {
      return "model:{" + seed + "}:" + index;
    }
  }
}
