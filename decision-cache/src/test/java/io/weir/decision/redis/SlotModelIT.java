// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.redis.CheckEncoder.Purpose;
import io.weir.limits.BucketState;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.KeptBuckets;
import io.weir.limits.SlotClaim;
import io.weir.limits.SlotState;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.CheckDecider.Outcome;
import io.weir.limits.check.CheckDecider.SlotWrite;
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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Compares slots in the script in Redis with the arithmetic in Java. Holders arrive, renew, release
 * and crash, many in one call. Limits and leases change, and clocks step.
 */
class SlotModelIT {
  private static final long FIRST_SEED = Long.getLong("weir.test.seed", 1);
  private static final int SEEDS = SuiteForm.isFull() ? 400 : 25;
  private static final int STEPS = 40;
  private static final int SETS = 2;
  private static final int HOLDERS = 8;
  private static final long SECOND = 1_000_000;

  @Test
  void script_randomHoldersAndClocks_agreesWithTheReference() throws Exception {
    int allowed = 0;
    int denied = 0;
    int released = 0;
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
        Run run = new Run(runner, seed);
        run.play();
        allowed += run.allowed;
        denied += run.denied;
        released += run.released;
      }
    }
    assertTrue(allowed > 10 * SEEDS, "allowed " + allowed);
    assertTrue(denied > 10 * SEEDS, "denied " + denied);
    assertTrue(released > 5 * SEEDS, "released " + released);
  }

  /** A value that is not a set of slots makes the check corrupt, and is not changed. */
  @Test
  void foreignValue_makesTheCheckCorrupt_andIsLeftAsItIs() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.setClock(1_800_000_000 * SECOND);
      runner.setWarm(true);
      Check check =
          new Check(
              List.of(
                  new BucketRequest("f@slots", new ConcurrencyLimit(3, SECOND), true),
                  new BucketRequest("f", new TokenBucketLimit(10, 1, SECOND), true)),
              1,
              SlotClaim.of("c", "i"));
      runner.redis().rpush(ScriptRunner.bytes("f@slots"), ScriptRunner.bytes("x"));
      List<String> before = runner.dump(check);
      for (Purpose purpose : Purpose.values()) {
        Decision.Undecided undecided =
            assertInstanceOf(
                Decision.Undecided.class, runner.run(List.of(check), List.of(purpose)).get(0));
        assertEquals(Decision.Cause.CORRUPT, undecided.cause());
      }
      assertEquals(before, runner.dump(check));

      runner.redis().del(ScriptRunner.bytes("f@slots"));
      runner.redis().zadd(ScriptRunner.bytes("f@slots"), Double.POSITIVE_INFINITY, new byte[] {1});
      runner.redis().zadd(ScriptRunner.bytes("f@slots"), Double.NEGATIVE_INFINITY, new byte[] {2});
      assertInstanceOf(Decision.Allowed.class, runner.take(check));
      assertEquals(1, runner.slots("f@slots").size());
    }
  }

  /** Regression: a lease of the maximum valid length expired immediately. */
  @Test
  void leaseOfTheGreatestLength_runsOnWhenTheClockIsSetBack() throws Exception {
    ConcurrencyLimit limit = new ConcurrencyLimit(1, ConcurrencyLimit.MAX_LEASE_MICROS);
    BucketRequest slots = new BucketRequest("back@slots", limit, true);
    Check first = new Check(List.of(slots), 1, SlotClaim.of("c", "first"));
    Check second = new Check(List.of(slots), 1, SlotClaim.of("c", "second"));
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.setWarm(true);
      long now = 1_800_000_000 * SECOND;
      runner.setClock(now);
      assertInstanceOf(Decision.Allowed.class, runner.take(first));
      for (long back : new long[] {0, 1, ConcurrencyLimit.MAX_LEASE_MICROS}) {
        runner.setClock(now - back);
        assertInstanceOf(Decision.Denied.class, runner.take(second), "back by " + back);
      }
    }
  }

  /**
   * Regression: the slot of a crashed holder was held for as long as the clock had stepped back.
   */
  @Test
  void clockStepsBackByHours_slotOfADeadHolder_isFreeOneLeaseLater() throws Exception {
    ConcurrencyLimit limit = new ConcurrencyLimit(1, 30 * SECOND);
    BucketRequest slots = new BucketRequest("dead@slots", limit, true);
    Check dead = new Check(List.of(slots), 1, SlotClaim.of("c", "dead"));
    Check next = new Check(List.of(slots), 1, SlotClaim.of("c", "next"));
    try (TestRedis redis = TestRedis.borrow();
        ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.setWarm(true);
      long now = 1_800_000_000 * SECOND;
      runner.setClock(now);
      assertInstanceOf(Decision.Allowed.class, runner.take(dead));
      long back = now - 7_200 * SECOND;
      runner.setClock(back);
      runner.peek(next);
      Decision.Denied denied = assertInstanceOf(Decision.Denied.class, runner.take(next));
      assertEquals(30 * SECOND, denied.buckets().get(0).retryAfterMicros());

      runner.setClock(back + 30 * SECOND - 1);
      assertInstanceOf(Decision.Denied.class, runner.take(next));
      runner.setClock(back + 30 * SECOND);
      assertInstanceOf(Decision.Allowed.class, runner.take(next));
    }
  }

  private static final class Run implements KeptBuckets {
    private final ScriptRunner runner;
    private final long seed;
    private final Random random;
    private final List<ConcurrencyLimit> limits = new ArrayList<>();
    private final Map<String, BucketState> model = new HashMap<>();
    private final Map<String, SlotState> slots = new HashMap<>();
    private long now = 1_800_000_000 * SECOND;
    private int allowed;
    private int denied;
    private int released;

    Run(ScriptRunner runner, long seed) {
      this.runner = runner;
      this.seed = seed;
      this.random = new Random(seed);
      for (int i = 0; i < SETS; i++) {
        limits.add(limit());
      }
    }

    @Override
    public @Nullable BucketState state(String bucket) {
      return model.get(bucket);
    }

    @Override
    public @Nullable SlotState slots(String bucket) {
      return slots.get(bucket);
    }

    private ConcurrencyLimit limit() {
      return new ConcurrencyLimit(
          1 + random.nextInt(5),
          random.nextInt(20) == 0
              ? ConcurrencyLimit.MAX_LEASE_MICROS
              : ConcurrencyLimit.MIN_LEASE_MICROS + random.nextLong(5 * SECOND));
    }

    void play() {
      for (int step = 0; step < STEPS; step++) {
        String where = "weir.test.seed=" + seed + " step " + step + " now " + now;
        if (random.nextInt(8) == 0) {
          limits.set(random.nextInt(SETS), limit());
        }
        List<Check> checks = new ArrayList<>();
        List<Purpose> purposes = new ArrayList<>();
        for (int i = 1 + random.nextInt(6); i > 0; i--) {
          Purpose purpose = purpose();
          purposes.add(purpose);
          checks.add(check(purpose == Purpose.GIVE_BACK));
        }
        runner.setClock(now);
        List<Decision> decisions = runner.run(checks, purposes);
        Set<String> written = new HashSet<>();
        for (int i = 0; i < checks.size(); i++) {
          Outcome expected = outcome(checks.get(i), purposes.get(i));
          assertEquals(
              expected.decision(),
              decisions.get(i),
              where + " check " + i + " " + purposes.get(i) + ": " + checks.get(i));
          keep(expected, written);
          count(expected, purposes.get(i));
        }
        for (String bucket : written) {
          requireKept(bucket, where);
        }
        step();
      }
    }

    private Outcome outcome(Check check, Purpose purpose) {
      return purpose == Purpose.GIVE_BACK
          ? CheckDecider.release(check, now, this)
          : CheckDecider.decide(check, purpose == Purpose.PEEK, true, now, this);
    }

    private void keep(Outcome outcome, Set<String> written) {
      outcome.restarts().forEach(each -> model.put(each.bucket(), each.state()));
      for (Write write : outcome.writes()) {
        model.put(write.bucket(), write.state());
        written.add(write.bucket());
      }
      for (SlotWrite write : outcome.slots()) {
        slots.put(write.bucket(), write.slots());
        written.add(write.bucket());
        assertTrue(write.slots().size() <= 5, () -> "more than any limit: " + write);
      }
    }

    private void count(Outcome outcome, Purpose purpose) {
      if (purpose == Purpose.GIVE_BACK) {
        released += outcome.slots().size();
      } else {
        allowed += outcome.decision() instanceof Decision.Allowed ? 1 : 0;
        denied += outcome.decision() instanceof Decision.Denied ? 1 : 0;
      }
    }

    private void requireKept(String bucket, String where) {
      if (slots.containsKey(bucket)) {
        assertEquals(slots.get(bucket), runner.slots(bucket), where);
      } else {
        assertEquals(model.get(bucket), runner.state(bucket), where);
      }
    }

    private Purpose purpose() {
      return switch (random.nextInt(6)) {
        case 0 -> Purpose.PEEK;
        case 1, 2 -> Purpose.GIVE_BACK;
        default -> Purpose.TAKE;
      };
    }

    private void step() {
      now +=
          switch (random.nextInt(10)) {
            case 0 -> random.nextLong(10 * SECOND);
            case 1 -> -random.nextLong(5 * SECOND); // the clock steps back
            case 2 -> random.nextInt(12) == 0 ? -farBack() : 0;
            case 3 -> 0;
            case 4 -> untilAnEnd() + random.nextInt(3) - 1;
            default -> random.nextLong(SECOND);
          };
    }

    /** Times near the bound up to which leases count, for the longest lease and a short lease. */
    private long farBack() {
      long days = random.nextLong(1, 3);
      return days * ConcurrencyLimit.MAX_LEASE_MICROS - SECOND + random.nextLong(2 * SECOND);
    }

    private long untilAnEnd() {
      SlotState some = slots.get(key(random.nextInt(SETS)));
      return some == null || some.size() == 0
          ? 0
          : some.byHolder().values().iterator().next() - now;
    }

    private String key(int set) {
      return "model:{" + seed + "}:" + set + "@slots";
    }

    private Check check(boolean ofSlotsAlone) {
      List<BucketRequest> buckets = new ArrayList<>();
      int first = random.nextInt(SETS);
      // a node may have another version of the policy
      ConcurrencyLimit limit = random.nextInt(6) == 0 ? limit() : limits.get(first);
      buckets.add(new BucketRequest(key(first), limit, random.nextInt(6) != 0));
      if (random.nextInt(3) == 0) {
        int other = 1 - first;
        buckets.add(new BucketRequest(key(other), limits.get(other), random.nextInt(6) != 0));
      }
      if (!ofSlotsAlone && random.nextInt(4) == 0) {
        buckets.add(
            random.nextInt(buckets.size() + 1),
            new BucketRequest(
                "model:{" + seed + "}:tokens",
                new TokenBucketLimit(40, 3, SECOND),
                random.nextInt(4) != 0));
      }
      SlotClaim claim = SlotClaim.of("model", "h" + random.nextInt(HOLDERS));
      boolean isRenewal = random.nextInt(4) == 0;
      return new Check(
          buckets,
          1 + random.nextInt(50),
          isRenewal ? claim.until(now + random.nextLong(-SECOND, SECOND)) : claim);
    }
  }
}
