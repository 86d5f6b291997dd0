// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.decision.DecisionCache;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.deny.DenyCache;
import io.weir.ingest.record.DecisionClock;
import io.weir.limits.BucketView;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.topics.model.CacheRestored;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The connections of one process to Redis. Messages take time and may be lost. */
final class CacheLink implements DecisionCache, CacheLife, SimulatedRedis.Subscriber {
  private static final long DEADLINE_MICROS = 20_000;

  /** Maximum time that a script may wait in a suspended server. */
  private static final long LATEST_MILLIS = 1_500;

  /** Maximum number of nested calls; it replaces a real node's maximum number of threads. */
  private static final int MAX_DEPTH = 3;

  private final World world;
  private final SimulatedRedis redis;
  private final Node node;
  private final int life;
  private final DenyCache denyCache;
  private final Map<String, Long> disturbancesAtDenial = new HashMap<>();
  private final Map<String, Integer> raisesOnTheWay = new HashMap<>();

  /** Identity of the current connection. */
  private Object connection = new Object();

  /**
   * Creates the connections of a process.
   *
   * @param life sequence number of the process on its node
   */
  CacheLink(World world, Node node, int life) {
    this.world = world;
    this.redis = world.redis();
    this.node = node;
    this.life = life;
    this.denyCache =
        new DenyCache(
            world.denyCacheAge(),
            () -> (world.scheduler().nowMicros() - Scheduler.START_MICROS) * 1_000);
    if (denyCache.isOn()) {
      redis.subscribe(this);
    }
  }

  /** Returns whether Redis would reply to this process. */
  boolean isUp() {
    return !redis.isAway() && !node.isCutFromRedis();
  }

  /** Passes Redis' time to a clock, if Redis replies. */
  void observeTime(DecisionClock clock) {
    if (isUp()) {
      clock.observe(redis.clock().epochMillis());
    }
  }

  @Override
  public CompletableFuture<Decision> submit(Check check) {
    return CompletableFuture.completedFuture(decide(check));
  }

  @Override
  public void raised(String bucket) {
    if (world.edges().hearsRaises()) {
      raisesOnTheWay.merge(bucket, 1, Integer::sum);
      deliver(bucket, connection, world.messageChance().millis(0, 3));
    }
  }

  /** Delivers a message after a delay, or later when the process can reach Redis again. */
  private void deliver(String bucket, Object over, long afterMicros) {
    world
        .scheduler()
        .after(
            afterMicros,
            "a message to " + node.name(),
            () -> {
              if (over != connection) {
                return;
              }
              if (isUp() && !node.isPaused()) {
                raisesOnTheWay.merge(bucket, -1, Integer::sum);
                denyCache.drop(bucket);
              } else {
                deliver(bucket, over, world.messageChance().millis(10, 100));
              }
            });
  }

  @Override
  public void closed() {
    connection = new Object();
    raisesOnTheWay.clear();
  }

  private Decision decide(Check check) {
    Decision.StillDenied denied = denyCache.find(connection, check);
    if (denied != null) {
      world.count("denied by the deny cache");
      denied.shortages().forEach(shortage -> requireDenied(check, shortage.bucket()));
      return denied;
    }
    long askedNanos = (world.scheduler().nowMicros() - Scheduler.START_MICROS) * 1_000;
    return ask(check, askedNanos);
  }

  /**
   * Checks that the cache would also deny the call. The check is omitted if a message is in flight,
   * the cache was lost, nodes have different limits, or Redis' clock was ever set. After a clock
   * step, a correction relates a bucket to the new time. Then the bucket may be full earlier,
   * although the correction returns no tokens (seed 51014558).
   */
  private void requireDenied(Check check, int index) {
    BucketRequest request = check.buckets().get(index);
    String bucket = request.bucket();
    BucketView now = redis.view(request);
    boolean isExcused =
        raisesOnTheWay.getOrDefault(bucket, 0) > 0
            || disturbancesAtDenial.getOrDefault(bucket, -1L) != redis.disturbances()
            || redis.wasClockSet()
            || world.haveLimitsChanged();
    if (now.holds(check.cost()) && !isExcused) {
      throw new InvariantBroken(
          InvariantBroken.Invariant.DENY,
          "a denial is repeated, although "
              + bucket
              + " holds "
              + check.cost()
              + " tokens: "
              + now);
    }
  }

  private Decision ask(Check check, long askedNanos) {
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
    noteDenial(check, decision, askedNanos);
    if (world.isDisturbedBy(Fault.NODE_KILLED) && chance.permille(15)) {
      world.count("killed between charge and journal");
      node.kill(false);
    }
    AdmittedTokens admitted = world.buckets().admitted(check, decision);
    if (chance.percent(25)) {
      waitFor(chance.millis(0, 4));
    }
    if (!node.isAlive(life)) {
      // no caller gets a response, so no tokens are admitted, but the charge stays
      admitted.takeBack();
      throw new Crash("before the answer of the cache was recorded");
    }
    node.admitted(admitted);
    if (decision instanceof Decision.Undecided) {
      node.suspectCache();
    }
    return decision;
  }

  /** Records a denial. The reply precedes all messages that the server publishes later. */
  private void noteDenial(Check check, Decision decision, long askedNanos) {
    denyCache.seen(redis.isWarm());
    if (denyCache.isOn() && decision instanceof Decision.Denied denied) {
      Object over = connection;
      world
          .edges()
          .noteDenial(
              note ->
                  world
                      .scheduler()
                      .after(
                          world.messageChance().millis(50, 2_000),
                          "a denial of " + node.name(),
                          note),
              () -> denyCache.note(over, check, world.edges().denied(denied), askedNanos));
      for (int i = 0; i < check.buckets().size(); i++) {
        if (denied.buckets().get(i).retryAfterMicros() > 0) {
          disturbancesAtDenial.put(check.buckets().get(i).bucket(), redis.disturbances());
        }
      }
    }
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
      throw new Crash("while waiting for the cache");
    }
    return new Decision.Undecided(Decision.Cause.TIMEOUT, "late");
  }

  /**
   * Takes tokens in advance. The request and the reply take time. A process that dies meanwhile
   * never receives the reply. If Redis is slow, the reply comes too late, and the decision is
   * {@code Undecided}.
   *
   * @param heldMillis time at which the lease holds the node's low watermark
   * @return completes later
   */
  CompletableFuture<Decision> lend(Check check, long heldMillis) {
    Chance chance = world.leaseChance();
    CompletableFuture<Decision> answer = new CompletableFuture<>();
    boolean isLate = world.isDisturbedBy(Fault.REDIS_SLOW) && chance.percent(8);
    long onTheWay = isLate ? chance.millis(1, LATEST_MILLIS) : chance.millis(0, 4);
    world
        .scheduler()
        .after(
            onTheWay,
            node.name() + " takes tokens in advance",
            () -> {
              Decision decision = isUp() ? redis.decide(check, false) : null;
              if (!node.isAlive(life)) {
                return;
              }
              if (isLate || decision == null) {
                answer(answer, new Decision.Undecided(Decision.Cause.TIMEOUT, "late or away"));
              } else if (decision instanceof Decision.Allowed allowed) {
                List<BucketWitness.Loan> loans = world.buckets().lent(check, allowed, heldMillis);
                node.lent(loans);
                world
                    .scheduler()
                    .after(
                        world.leaseMicros(),
                        "tokens in advance are over",
                        () -> loans.forEach(BucketWitness.Loan::end));
                world
                    .scheduler()
                    .after(
                        chance.millis(0, 4),
                        "tokens in advance come to " + node.name(),
                        () -> answer(answer, allowed));
              } else {
                answer(answer, decision);
              }
            });
    return answer;
  }

  private void answer(CompletableFuture<Decision> answer, Decision decision) {
    if (!node.isAlive(life)) {
      return;
    }
    if (node.isPaused()) {
      world
          .scheduler()
          .after(
              world.leaseChance().millis(10, 100),
              "tokens in advance wait for " + node.name(),
              () -> answer(answer, decision));
      return;
    }
    if (decision instanceof Decision.Allowed) {
      world.count("tokens taken in advance");
    }
    answer.complete(decision);
  }

  /** Lets other events run for the given time, unless too many calls are nested. */
  private void waitFor(long micros) {
    if (world.depth() < MAX_DEPTH) {
      world.waitFor(micros);
    }
  }

  @Override
  public CompletableFuture<Decision> submitPeek(Check check) {
    return CompletableFuture.completedFuture(
        isUp()
            ? redis.decide(check, true)
            : new Decision.Undecided(Decision.Cause.UNAVAILABLE, "away"));
  }

  @Override
  public CompletableFuture<Decision> submitRelease(Check check) {
    Chance chance = world.networkChance();
    if (!isUp()) {
      return CompletableFuture.completedFuture(
          new Decision.Undecided(Decision.Cause.UNAVAILABLE, "away"));
    }
    if (world.isDisturbedBy(Fault.REDIS_SLOW) && chance.percent(8)) {
      world
          .scheduler()
          .after(
              chance.millis(1, LATEST_MILLIS),
              "a late release of " + node.name(),
              () -> {
                if (!redis.isAway()) {
                  var unused = redis.release(check);
                }
              });
      return CompletableFuture.completedFuture(
          new Decision.Undecided(Decision.Cause.TIMEOUT, "late"));
    }
    return CompletableFuture.completedFuture(redis.release(check));
  }

  @Override
  public Health check() {
    return new Health(isUp(), "simulated");
  }

  /** Returns a corrector for the same server. */
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
  public void close() {
    redis.unsubscribe(this);
  }
}
