// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.decision.DecisionCache;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.ingest.record.DecisionClock;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.topics.model.CacheRestored;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The connections of one process to Redis. Messages on them take time and may be lost. */
final class CacheLink implements DecisionCache, CacheLife {
  private static final long DEADLINE_MICROS = 20_000;

  /** Longest time a script may wait in a server that is suspended. */
  private static final long LATEST_MILLIS = 1_500;

  /** Most calls nested in each other; bounded as threads are. */
  private static final int MAX_DEPTH = 3;

  private final World world;
  private final SimulatedRedis redis;
  private final Node node;
  private final int life;

  /**
   * Creates the connections of a process.
   *
   * @param life number of the process among those of its node
   */
  CacheLink(World world, Node node, int life) {
    this.world = world;
    this.redis = world.redis();
    this.node = node;
    this.life = life;
  }

  private boolean isUp() {
    return !redis.isAway() && !node.isCutFromRedis();
  }

  /** Passes the cache's time to a clock, if the cache answers. */
  void observeTime(DecisionClock clock) {
    if (isUp()) {
      clock.observe(redis.clock().epochMillis());
    }
  }

  @Override
  public PendingDecision submit(Check check) {
    Decision decision = decide(check);
    return () -> decision;
  }

  private Decision decide(Check check) {
    Chance chance = world.networkChance();
    if (!isUp()) {
      return new Decision.Undecided(Decision.Cause.UNAVAILABLE, "away");
    }
    if (world.isDisturbedBy(Fault.REDIS_SLOW) && chance.percent(8)) {
      return decideTooLate(check, chance);
    }
    if (chance.percent(25)) {
      waitFor(chance.millis(0, 4));
    }
    if (!isUp()) {
      return new Decision.Undecided(Decision.Cause.UNAVAILABLE, "gone");
    }
    Decision decision = redis.decide(check, false);
    if (world.isDisturbedBy(Fault.NODE_KILLED) && chance.permille(15)) {
      world.count("killed between charge and journal");
      node.kill(false);
    }
    AdmittedTokens admitted = world.buckets().admitted(check, decision);
    if (chance.percent(25)) {
      waitFor(chance.millis(0, 4));
    }
    if (!node.isAlive(life)) {
      // no caller is answered, so nothing is admitted, though the charge stands
      admitted.takeBack();
      throw new Crash("before the answer of the cache was recorded");
    }
    node.admitted(admitted);
    if (decision instanceof Decision.Undecided) {
      node.suspectCache();
    }
    return decision;
  }

  private Decision decideTooLate(Check check, Chance chance) {
    world.count("charge after the deadline");
    world
        .scheduler()
        .after(
            chance.millis(1, LATEST_MILLIS),
            "a late charge of " + node.name(),
            () -> {
              if (!redis.isAway()) {
                redis.decide(check, false);
              }
            });
    waitFor(DEADLINE_MICROS);
    if (!node.isAlive(life)) {
      throw new Crash("while the cache was waited for");
    }
    return new Decision.Undecided(Decision.Cause.TIMEOUT, "late");
  }

  /** Lets the rest of the world run while this call waits. */
  private void waitFor(long micros) {
    if (world.depth() < MAX_DEPTH) {
      world.waitFor(micros);
    }
  }

  @Override
  public Decision peek(Check check) {
    return isUp()
        ? redis.decide(check, true)
        : new Decision.Undecided(Decision.Cause.UNAVAILABLE, "away");
  }

  @Override
  public Health check() {
    return new Health(isUp(), "simulated");
  }

  /** Returns the corrector over the same server. */
  BucketCorrector corrector() {
    return new BucketCorrector() {
      @Override
      public List<CorrectionOutcome> apply(List<BoundedCorrection> corrections)
          throws CacheUnavailableException {
        requireUp();
        List<CorrectionOutcome> outcomes = redis.correct(BucketCorrector.requireBatch(corrections));
        if (world.isDisturbedBy(Fault.CORRECTIONS_DISORDERED)
            && world.networkChance().percent(10)) {
          throw new CacheUnavailableException("the answer was lost");
        }
        return outcomes;
      }

      @Override
      public void close() {}
    };
  }

  private void requireUp() throws CacheUnavailableException {
    if (!isUp()) {
      throw new CacheUnavailableException("away");
    }
  }

  @Override
  public Warmth look() {
    return isUp() ? (redis.isWarm() ? Warmth.WARM : Warmth.COLD) : Warmth.UNKNOWN;
  }

  @Override
  public void awaitColdSignal(Duration atMost) {
    throw new UnsupportedOperationException("the simulation waits in the scheduler");
  }

  @Override
  public @Nullable String beginRestoration() throws CacheUnavailableException {
    requireUp();
    return redis.beginRestoration();
  }

  @Override
  public void abandonRestoration(String generation) throws CacheUnavailableException {
    requireUp();
    redis.abandonRestoration(generation);
  }

  @Override
  public boolean noteRestored(CacheRestored restored) throws CacheUnavailableException {
    requireUp();
    return redis.noteRestored(restored);
  }

  @Override
  public void close() {}
}
