// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Properties of the rule when corrections are repeated, shuffled, left out, or applied by several
 * correctors, with charges in between. Only the newest correction counts, from its first
 * application, and each charge counts once.
 */
class CorrectionPropertyTest {
  private static final long FIRST_SEED = Long.getLong("weir.test.seed", 1);
  private static final int SEEDS = 3_000;
  private static final long T0 = 1_800_000_000_000_000L;

  /** No run of shuffled events takes longer: no bucket of theirs is full by its records. */
  private static final long RUN_MICROS = 10_000_000;

  /** A limit so large that no charge of a run is refused. */
  private static final long CAPACITY_TOKENS = 1_000_000;

  /** Something that happens to a bucket. */
  private sealed interface Event {
    /** A charge. */
    record Charged(long tokens) implements Event {}

    /** A correction arrives, from whichever corrector. */
    record Arrived(Correction correction) implements Event {}

    /** Time goes by. */
    record Passed(long micros) implements Event {}
  }

  /** A bucket and what happens to it. */
  private static final class Bucket {
    private final BucketLimit limit;
    private final BucketArithmetic arithmetic;
    private @Nullable BucketState state;
    private long now = T0;
    private int applied;

    Bucket(BucketLimit limit) {
      this.limit = limit;
      this.arithmetic = limit.arithmetic();
    }

    BucketState refilled() {
      return arithmetic.refill(state, now);
    }

    long levelUnits() {
      return arithmetic.levelUnits(refilled());
    }

    /** A tick, and what a microsecond that is rounded up is worth. */
    long roundingUnits() {
      return limit instanceof TokenBucketLimit bucket ? 2 * bucket.scale().unitsPerTick() : 0;
    }

    void play(Event event) {
      if (event instanceof Event.Charged charge) {
        BucketState refilled = arithmetic.refill(state, now);
        state = arithmetic.charge(refilled, charge.tokens, now);
      } else if (event instanceof Event.Arrived arrived) {
        BoundedCorrection bounded = new BoundedCorrection(arrived.correction, CAPACITY_TOKENS);
        CorrectionRule.Result result = CorrectionRule.apply(bounded, state, now);
        if (result.state() != null) {
          state = result.state();
        }
        applied += result.outcome().kind() == Kind.APPLIED ? 1 : 0;
      } else if (event instanceof Event.Passed time) {
        now += time.micros;
      }
    }
  }

  private static BucketLimit limit(Random random) {
    return random.nextBoolean()
        ? new QuotaLimit(CAPACITY_TOKENS, T0 + 3_600_000_000L)
        : tokenBucket(random);
  }

  private static TokenBucketLimit tokenBucket(Random random) {
    return new TokenBucketLimit(CAPACITY_TOKENS, 1L + random.nextInt(1_000), 1_000_000);
  }

  /** Corrections of one epoch; each includes as many charges as the one before, or more. */
  private static List<Correction> history(Random random, BucketLimit limit, long epoch) {
    List<Correction> history = new ArrayList<>();
    long charged = 0;
    int versions = 1 + random.nextInt(5);
    for (int version = 1; version <= versions; version++) {
      charged += random.nextInt(20);
      history.add(
          new Correction(
              "b",
              limit,
              epoch,
              version,
              charged,
              T0 + RUN_MICROS + random.nextInt(100_000_000),
              random.nextInt(100_000),
              0,
              Correction.Cause.GAP,
              1,
              2,
              0));
    }
    return history;
  }

  private static List<Event> shuffled(Random random, List<Correction> history) {
    List<Event> events = new ArrayList<>();
    for (Correction correction : history) {
      boolean newest = correction.version() == history.size();
      // left out, once, or again and again; the newest at least once
      for (int i = random.nextInt(4) + (newest ? 1 : 0); i > 0; i--) {
        events.add(new Event.Arrived(correction));
      }
    }
    for (int i = random.nextInt(20); i > 0; i--) {
      events.add(new Event.Charged(1 + random.nextInt(30)));
      events.add(new Event.Passed(random.nextInt(500_000)));
    }
    Collections.shuffle(events, random);
    return events;
  }

  @Test
  void correctionsInAnyOrderAndNumber_endInTheStateOfTheNewestAlone() {
    for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      Random random = new Random(seed);
      BucketLimit limit = limit(random);
      // more than any correction knows of: the cache has not gone back behind one
      Event first = new Event.Charged(100L + random.nextInt(9));
      Bucket full = new Bucket(limit);
      Bucket once = new Bucket(limit);
      full.play(first);
      once.play(first);
      List<Correction> history = history(random, limit, T0);
      Correction newest = history.get(history.size() - 1);

      boolean seen = false;
      for (Event event : shuffled(random, history)) {
        String where = "weir.test.seed=" + seed + " " + event;
        BucketState before = full.state;
        full.play(event);
        if (event instanceof Event.Arrived arrived) {
          if (seen) {
            assertEquals(before, full.state, () -> where + " came after the newest");
          } else if (arrived.correction.equals(newest)) {
            seen = true;
            once.play(event);
          }
        } else {
          once.play(event);
        }
        if (seen) {
          assertEquals(once.state, full.state, where);
        }
      }
      assertTrue(full.applied <= history.size(), "weir.test.seed=" + seed);
      assertEquals(1, once.applied, "weir.test.seed=" + seed);
    }
  }

  /** Of a quota nothing depends on when: whatever is charged after the stamp counts, once. */
  @Test
  void quota_correctionArrivesLate_endsInTheSameStateAsInTime() {
    for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      Random random = new Random(seed);
      BucketLimit limit = new QuotaLimit(CAPACITY_TOKENS, T0 + 3_600_000_000L);
      Bucket inTime = new Bucket(limit);
      Bucket late = new Bucket(limit);
      long charged = 1L + random.nextInt(1_000);
      long total = charged + random.nextInt(1_000) - Math.min(charged, random.nextInt(1_000));
      Correction correction =
          new Correction(
              "b", limit, T0, 1, charged, 0, total, 0, Correction.Cause.UNSTAMPED, 1, 2, 0);
      Event stamp = new Event.Charged(charged);
      inTime.play(stamp);
      late.play(stamp);

      inTime.play(new Event.Arrived(correction));
      for (int i = random.nextInt(10); i > 0; i--) {
        Event charge = new Event.Charged(1 + random.nextInt(1_000));
        inTime.play(charge);
        late.play(charge);
      }
      late.play(new Event.Arrived(correction));
      assertEquals(inTime.state, late.state, "weir.test.seed=" + seed);
    }
  }

  /**
   * A token bucket that refills to the brim and is drawn on again while its correction is on its
   * way: what was refilled meanwhile is not taken. Charges that the cache does not know of come
   * between, a correction for each, and all arrive late.
   */
  @Test
  void tokenBucket_debitsArriveLate_endsAtTheTrueLevel() {
    for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      Random random = new Random(seed);
      Bucket truth = new Bucket(tokenBucket(random));
      Bucket cache = new Bucket(truth.limit);
      List<Correction> onTheWay = new ArrayList<>();
      for (int version = 1; version <= 1 + seed % 3; version++) {
        playBoth(random, truth, cache);
        truth.play(new Event.Charged(1 + random.nextInt(500))); // let through without the cache
        onTheWay.add(stampAndCorrect(version, truth, cache));
      }
      playBoth(random, truth, cache);

      onTheWay.forEach(correction -> cache.play(new Event.Arrived(correction)));
      String where = "weir.test.seed=" + seed;
      long ahead = cache.levelUnits() - truth.levelUnits();
      assertTrue(Math.abs(ahead) <= truth.roundingUnits(), () -> where + " ahead by " + ahead);
    }
  }

  /** How much of a late credit was above the brim is not known; it never takes, nor gives more. */
  @Test
  void tokenBucket_creditArrivesLate_levelIsBetweenCacheAndTruth() {
    int healed = 0;
    for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      Random random = new Random(seed);
      Bucket truth = new Bucket(tokenBucket(random));
      Bucket cache = new Bucket(truth.limit);
      playBoth(random, truth, cache);
      cache.play(new Event.Charged(1 + random.nextInt(500))); // and the record is never written
      Correction correction = stampAndCorrect(1, truth, cache);
      playBoth(random, truth, cache);
      long before = cache.levelUnits();

      cache.play(new Event.Arrived(correction));
      long after = cache.levelUnits();
      String where = "weir.test.seed=" + seed;
      assertTrue(
          after >= before - truth.roundingUnits(), () -> where + " took " + (before - after));
      assertTrue(
          after <= truth.levelUnits() + truth.roundingUnits(), () -> where + " gave too much");
      healed += truth.levelUnits() - after <= truth.roundingUnits() ? 1 : 0;
    }
    int exact = healed;
    assertTrue(exact > SEEDS / 2, () -> "only " + exact + " exact");
  }

  /** Calls that cache and records agree on; sometimes so few that the bucket is full between. */
  private static void playBoth(Random random, Bucket truth, Bucket cache) {
    for (int i = 1 + random.nextInt(10); i > 0; i--) {
      Event charge = new Event.Charged(1 + random.nextInt(300));
      Event time = new Event.Passed(random.nextInt(500_000));
      for (Bucket bucket : List.of(truth, cache)) {
        bucket.play(charge);
        bucket.play(time);
      }
    }
  }

  /** The newest call, and the correction that is computed from its record. */
  private static Correction stampAndCorrect(int version, Bucket truth, Bucket cache) {
    truth.play(new Event.Charged(1));
    cache.play(new Event.Charged(1));
    BucketState stamp = cache.refilled();
    BucketState right = truth.refilled();
    return new Correction(
        "b",
        truth.limit,
        stamp.epoch(),
        version,
        stamp.chargedTokens(),
        truth.now + truth.arithmetic.resetMicros(right, truth.now),
        0,
        0,
        Correction.Cause.UNSTAMPED,
        1,
        2,
        0);
  }

  /**
   * A flush and the correction published for it: the next charge goes on as if nothing happened.
   */
  @Test
  void stateLost_correctionApplied_bucketContinuesAsIfNeverLost() {
    for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      Random random = new Random(seed);
      BucketLimit limit = limit(random);
      Bucket kept = new Bucket(limit);
      for (int i = 1 + random.nextInt(9); i > 0; i--) {
        kept.play(new Event.Charged(1_000 + random.nextInt(1_000)));
        kept.play(new Event.Passed(random.nextInt(500_000)));
      }
      Bucket lost = new Bucket(limit);
      lost.now = kept.now;
      BucketState stamp = kept.arithmetic.refill(kept.state, kept.now);
      long fullAt = kept.now + kept.arithmetic.resetMicros(stamp, kept.now);
      Correction restore =
          new Correction(
              "b",
              limit,
              stamp.epoch(),
              1,
              stamp.chargedTokens(),
              fullAt,
              stamp.chargedTokens(),
              0,
              Correction.Cause.RESTORE,
              1,
              2,
              0);

      lost.play(new Event.Arrived(restore));
      for (Bucket bucket : List.of(kept, lost)) {
        bucket.play(new Event.Passed(random.nextInt(2) == 0 ? 0 : 300_000));
      }
      lost.now = kept.now;
      kept.play(new Event.Charged(7));
      lost.play(new Event.Charged(7));
      BucketState expected = Objects.requireNonNull(kept.state);
      BucketState actual = Objects.requireNonNull(lost.state);
      String where = "weir.test.seed=" + seed + " " + limit;
      assertEquals(7, actual.chargedTokens(), where);
      long ahead = kept.arithmetic.levelUnits(actual) - kept.arithmetic.levelUnits(expected);
      long oneTick = limit instanceof TokenBucketLimit bucket ? bucket.scale().unitsPerTick() : 0;
      // full_at is in whole microseconds, rounded up: never ahead, less than a tick behind
      assertTrue(ahead <= 0 && -ahead <= oneTick, () -> where + " ahead by " + ahead + " units");
    }
  }
}
