// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.EdgeNumbers;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.CheckDecider.Outcome;
import io.weir.limits.check.CheckDecider.Restart;
import io.weir.limits.check.CheckDecider.Write;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.SuiteForm;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Compares the script in Redis with the arithmetic in Java. The same random calls must give equal
 * replies and states.
 */
class TakeTokensModelIT {
  private static final long FIRST_SEED = Long.getLong("weir.test.seed", 1);
  private static final int SEEDS = SuiteForm.isFull() ? 400 : 100;
  private static final int STEPS = 25;
  private static final int BUCKETS = 4;
  private static final long FIRST_NOW = 1_800_000_000_000_000L;

  @Test
  void script_randomCallsClocksAndPolicies_agreesWithTheReference() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      int restarts = 0;
      for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
        restarts += new Run(runner, seed).play();
      }
      int restarted = restarts;
      assertTrue(restarted > SEEDS, () -> "restarted: " + restarted);
      assertTrue(runner.shortStates() > SEEDS, () -> "short: " + runner.shortStates());
      assertTrue(runner.longStates() > SEEDS, () -> "long: " + runner.longStates());
    }
  }

  /** Runs one seed with a few buckets under changing limits. */
  private static final class Run {
    private final ScriptRunner runner;
    private final long seed;
    private final EdgeNumbers numbers;
    private final Random random;
    private final List<BucketLimit> limits = new ArrayList<>();
    private final Map<String, BucketState> model = new HashMap<>();
    private final Map<String, TimeToLive> timesToLive = new HashMap<>();
    private long now = FIRST_NOW;
    private int restarts;

    Run(ScriptRunner runner, long seed) {
      this.runner = runner;
      this.seed = seed;
      this.numbers = new EdgeNumbers(seed);
      this.random = numbers.random();
      for (int i = 0; i < BUCKETS; i++) {
        limits.add(i < 2 ? numbers.limit() : numbers.quota(now));
      }
    }

    /**
     * Runs the seed. Returns the number of buckets whose time was written because the clock had
     * stepped back.
     */
    int play() throws Exception {
      for (int step = 0; step < STEPS; step++) {
        String where = "weir.test.seed=" + seed + " step " + step + " now " + now;
        if (random.nextInt(5) == 0) {
          long beganNanos = System.nanoTime();
          BucketState edge = numbers.state(now);
          String bucket = bucket(random.nextInt(BUCKETS));
          runner.put(bucket, edge);
          model.put(bucket, edge);
          timesToLive.put(bucket, TimeToLive.setAfter(beganNanos, 600_000));
        }
        playBatch(where);
        long stepMicros = numbers.stepMicros(numbers.limit());
        now = Math.max(1, Math.min(now + stepMicros, 1L << 52));
      }
      return restarts;
    }

    private void playBatch(String where) throws Exception {
      List<Check> checks = new ArrayList<>();
      List<Boolean> peeks = new ArrayList<>();
      for (int i = 1 + random.nextInt(5); i > 0; i--) {
        checks.add(randomCheck());
        peeks.add(random.nextInt(5) == 0);
      }
      boolean warm = random.nextInt(4) != 0;
      runner.setClock(now);
      runner.setWarm(warm);

      long beganNanos = System.nanoTime();
      List<Decision> decisions = runner.decide(checks, peeks);
      for (int i = 0; i < checks.size(); i++) {
        Outcome expected = CheckDecider.decide(checks.get(i), peeks.get(i), warm, now, model::get);
        assertEquals(
            expected.decision(), decisions.get(i), where + " check " + i + ": " + checks.get(i));
        for (Write write : expected.writes()) {
          model.put(write.bucket(), write.state());
          timesToLive.put(write.bucket(), TimeToLive.setAfter(beganNanos, write.ttlMillis()));
        }
        for (Restart restart : expected.restarts()) {
          model.put(restart.bucket(), restart.state());
          restarts++;
        }
      }
      List<String> buckets = IntStream.range(0, BUCKETS).mapToObj(this::bucket).toList();
      List<ScriptRunner.Kept> kept = runner.kept(buckets);
      for (int i = 0; i < BUCKETS; i++) {
        assertKept(buckets.get(i), kept.get(i), where);
      }
    }

    private void assertKept(String bucket, ScriptRunner.Kept kept, String where) {
      assertEquals(model.get(bucket), kept.state(), where + " " + bucket);
      TimeToLive expected = timesToLive.get(bucket);
      if (expected != null) {
        expected.assertIs(kept.ttlMillis(), where + " " + bucket);
      }
    }

    private Check randomCheck() {
      List<BucketRequest> buckets = new ArrayList<>();
      Set<Integer> used = new HashSet<>();
      for (int i = 1 + random.nextInt(3); i > 0; i--) {
        int bucket = random.nextInt(BUCKETS);
        if (used.add(bucket)) {
          // most calls have the same limit; sometimes the policy has changed
          int limit = random.nextInt(6) == 0 ? random.nextInt(BUCKETS) : bucket;
          buckets.add(
              new BucketRequest(
                  bucket(bucket),
                  limits.get(limit),
                  random.nextInt(4) != 0,
                  random.nextInt(3) == 0));
        }
      }
      return new Check(buckets, numbers.cost(limits.get(random.nextInt(BUCKETS))));
    }

    private String bucket(int index) {
      return "model:{" + seed + "}:" + index;
    }
  }
}
