// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.sim.InvariantBroken.Invariant;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CorrectionCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.SettlementVerdictCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One history of the world that a seed determines. The phases are: calls and faults, the end of all
 * faults, calls without faults, no calls, checks. The same seed produces the same history, event by
 * event.
 */
final class Simulation {
  private static final long SECOND_MICROS = 1_000_000;
  private static final long CHAOS_MICROS = 25 * SECOND_MICROS;
  private static final long LEAST_CALM_MICROS = 9 * SECOND_MICROS;
  private static final long CALM_CALL_MICROS = 90_000;

  /**
   * Maximum duration of the phase with calls and without faults. A node abandons a restoration a
   * minute after the last message of the restoration. This message may wait another minute for the
   * watermark of a lost journal (seed 110000185).
   */
  private static final long MOST_CALM_MICROS = 150 * SECOND_MICROS;

  private static final long QUIET_MICROS = 8 * SECOND_MICROS;
  private static final long MOST_CLOSING_MICROS = 40 * SECOND_MICROS;

  private final long seed;
  private final World world;
  private final Trace trace;

  private Simulation(long seed, Edges edges, @Nullable Consumer<String> listener) {
    this.seed = seed;
    this.trace = new Trace(listener);
    Chance chance = Chance.ofSeed(seed);
    this.world = new World(Plan.draw(chance.split()), chance, edges, trace);
  }

  /**
   * The result of a history.
   *
   * @param seed the seed of the history
   * @param steps number of events
   * @param traceHash hash of all events in order
   * @param calls number of answered calls and settlements
   * @param faults the faults that occurred, with their numbers
   * @param broken description of the broken invariant; null if all invariants hold
   */
  public record Outcome(
      long seed,
      long steps,
      long traceHash,
      long calls,
      Map<String, Long> faults,
      @Nullable String broken) {

    /** Returns whether all invariants hold. */
    public boolean isGood() {
      return broken == null;
    }
  }

  /** Runs the history of a seed with the unchanged code. */
  public static Outcome run(long seed) {
    return run(seed, Mutant.NONE, null);
  }

  /**
   * Runs the history of a seed.
   *
   * @param edges {@link Mutant#NONE} for the unchanged code, or another mutant
   * @param listener receives every step; null for no listener
   */
  static Outcome run(long seed, Edges edges, @Nullable Consumer<String> listener) {
    return new Simulation(seed, edges, listener).run();
  }

  private Outcome run() {
    String broken = null;
    try {
      live();
      reckon();
      stepClock();
    } catch (InvariantBroken found) {
      broken = String.valueOf(found.getMessage());
    } catch (RuntimeException | AssertionError stopped) {
      broken = new InvariantBroken(Invariant.STOPPED, describe(stopped)).getMessage();
    }
    return new Outcome(
        seed,
        trace.steps(),
        trace.hash(),
        world.calls().answeredCalls(),
        new TreeMap<>(world.counts()),
        broken);
  }

  /**
   * Steps Redis' clock far, and checks that each limit works normally again one fill time after the
   * step. An empty bucket needs a second fill time. Therefore the check waits for two fill times,
   * and requires full buckets.
   */
  private void stepClock() {
    Map<String, BucketLimit> limits = world.buckets().refillingBuckets();
    limits.forEach(this::drain);
    world.faults().stepRedisClockFar();
    long longestMicros = 0;
    for (Map.Entry<String, BucketLimit> each : limits.entrySet()) {
      drain(each.getKey(), each.getValue());
      longestMicros = Math.max(longestMicros, each.getValue().arithmetic().fillMicros());
    }
    limits.keySet().removeIf(bucket -> isInDebt(bucket, limits));
    pass(2 * longestMicros);
    limits.forEach(
        (bucket, limit) ->
            require(
                take(bucket, limit, limit.capacityTokens()) instanceof Decision.Allowed,
                Invariant.LIVENESS,
                bucket
                    + " is not full two fill times after the clock has stepped: "
                    + world.redis().kept(bucket)));
  }

  /** Takes tokens from a bucket until it denies a call. */
  private void drain(String bucket, BucketLimit limit) {
    for (long cost = limit.capacityTokens(); cost > 0; cost /= 2) {
      while (take(bucket, limit, cost) instanceof Decision.Allowed) {
        world.trace().note("drained", bucket, cost);
      }
    }
  }

  private Decision take(String bucket, BucketLimit limit, long cost) {
    BucketRequest request = new BucketRequest(bucket, limit, true);
    return world.redis().decide(new Check(List.of(request), cost), false);
  }

  private boolean isInDebt(String bucket, Map<String, BucketLimit> limits) {
    BucketLimit limit = limits.get(bucket);
    long now = world.redis().clock().epochMicros();
    return limit == null
        || limit.arithmetic().levelUnits(limit.arithmetic().refill(world.redis().kept(bucket), now))
            < 0;
  }

  private static String describe(Throwable stopped) {
    StackTraceElement[] stack = stopped.getStackTrace();
    return stopped + (stack.length == 0 ? "" : " at " + stack[0]);
  }

  private void live() {
    trace.note(world.plan().toString().hashCode());
    world.nodes().forEach(Node::start);
    world.counters().forEach(Counter::start);
    pass(2 * SECOND_MICROS);
    world.faults().begin();
    world.callers().begin();
    pass(CHAOS_MICROS);
    world.heal();
    world.callers().stop();
    long healed = world.scheduler().nowMicros();
    long upSince = healed;
    // a repeated denial has no stamp, so each bucket is queried in Redis again (seed 51008162)
    long calmMicros = LEAST_CALM_MICROS + world.denyCacheAge().toNanos() / 1_000;
    while (world.scheduler().nowMicros() < upSince + calmMicros || !isSettled()) {
      require(
          world.scheduler().nowMicros() < healed + MOST_CALM_MICROS,
          Invariant.LIVENESS,
          "all is healed, but "
              + (isUp() ? "a call is not in the log" : "not all is up: " + parts()));
      if (world.nodes().stream().allMatch(Node::awaitsItsClock)) {
        // without a node, no watermark would arrive to close windows (seed 370000133)
        world.nodes().get(0).setClockAfterLastOpening();
      }
      if (!isUp()) {
        upSince = world.scheduler().nowMicros(); // callers do not call a node that drains
      }
      world.callers().callCalmly();
      pass(CALM_CALL_MICROS);
    }
    pass(QUIET_MICROS);
    List<LogLines.Line> lines = new ArrayList<>();
    for (int partition = 0; partition < world.kafka().partitions(); partition++) {
      lines.addAll(LogLines.of(partition, world.kafka().calls(partition)));
    }
    new Convergence(world, lines).check(world.redis().clock().epochMicros() - LEAST_CALM_MICROS);
    checkReplay();
    close();
  }

  private void pass(long micros) {
    world.scheduler().runUntil(world.scheduler().nowMicros() + micros);
  }

  private boolean isSettled() {
    return isUp() && world.calls().isComplete();
  }

  private boolean isUp() {
    return world.redis().isWarm()
        && world.nodes().stream().allMatch(node -> node.isReady() || node.awaitsItsClock())
        && world.counters().stream().allMatch(Counter::isUp);
  }

  /** Returns the state of each component. */
  private String parts() {
    StringBuilder parts = new StringBuilder();
    parts.append("cache warm ").append(world.redis().isWarm());
    for (Node node : world.nodes()) {
      parts.append(", ").append(node.name()).append(" ready ").append(node.isReady());
    }
    for (Counter counter : world.counters()) {
      parts.append(", counter up ").append(counter.isUp());
    }
    return parts.toString();
  }

  private static void require(boolean holds, Invariant invariant, String detail) {
    if (!holds) {
      throw new InvariantBroken(invariant, detail);
    }
  }

  /**
   * Reads every correction again, each partition in order. No correction may change an existing
   * bucket. There are two exceptions until the last correction is read. First, a bucket that
   * expired because it was full may get the state of an older correction. Second, a quota in an
   * epoch without corrections takes the corrections of older epochs one after another (seed
   * 80017914). After the last correction, the check ignores an expired bucket that, according to
   * the records, is not full. A debt cap has limited the debt of such a bucket, but the corrections
   * charge the whole debt again (seed 7762).
   */
  private void checkReplay() {
    for (int partition = 0; partition < world.kafka().partitions(); partition++) {
      Map<String, BucketState> reread = new HashMap<>();
      Map<String, Correction> last = new HashMap<>();
      for (SimulatedLog.Entry entry : world.kafka().corrections(partition).all()) {
        if (isCorrection(entry)) {
          Correction correction = decode(entry);
          String bucket = correction.bucket();
          BucketState kept = world.redis().kept(bucket);
          boolean isStep = kept == null || isOfOlderLife(correction, kept);
          BucketState known = reread.get(bucket);
          BucketState before = isStep && known != null ? known : kept;
          BucketState after = applyAgain(correction, before);
          if (!isStep) {
            checkSameLevel(correction, kept, after);
          } else if (after != null) {
            reread.put(bucket, after);
          }
          last.put(bucket, correction);
        }
      }
      reread.forEach(
          (bucket, after) -> {
            Correction correction = last.get(bucket);
            if (correction != null && !isForgiven(correction)) {
              checkSameLevel(correction, world.redis().kept(bucket), after);
            }
          });
    }
  }

  /**
   * Returns whether a quota takes a correction of an earlier epoch, because its own epoch has no
   * correction.
   */
  private static boolean isOfOlderLife(Correction correction, BucketState kept) {
    return !correction.limit().refills()
        && kept.correctedEpoch() == 0
        && correction.epoch() < kept.epoch();
  }

  /**
   * Returns whether, according to the records, a bucket is not yet full. Such a bucket may be
   * missing in the cache: if a debt cap limited the debt there, the bucket was full earlier and
   * expired.
   */
  private boolean isForgiven(Correction correction) {
    return correction.limit().refills()
        && correction.fullAtEpochMicros() > world.redis().clock().epochMicros();
  }

  /**
   * Returns whether an undetected failover may have lost a correction, and no later call of the
   * bucket can reveal the loss.
   */
  private boolean isLossUnseen(Correction correction) {
    return world.buckets().hasGoneBack()
        && Convergence.hasNoMoreRecords(correction.limit(), world.redis().clock().epochMicros());
  }

  private @Nullable BucketState applyAgain(Correction correction, @Nullable BucketState before) {
    BoundedCorrection bounded =
        new BoundedCorrection(correction, correction.limit().capacityTokens());
    return world.edges().correct(bounded, before, world.redis().clock().epochMicros()).state();
  }

  /**
   * Checks that a repeated correction does not change the level. A cache that returned to an older
   * state may lack the version of a correction, but must have its effect.
   */
  private void checkSameLevel(
      Correction correction, @Nullable BucketState kept, @Nullable BucketState after) {
    if (after == null || isLossUnseen(correction)) {
      return;
    }
    BucketArithmetic arithmetic = correction.limit().arithmetic();
    long now = world.redis().clock().epochMicros();
    require(
        arithmetic.levelUnits(arithmetic.refill(after, now))
            == arithmetic.levelUnits(arithmetic.refill(kept, now)),
        Invariant.CORRECTIONS,
        correction + " changes " + kept + " when applied again");
  }

  private static boolean isCorrection(SimulatedLog.Entry entry) {
    byte[] type = entry.headers().get(BatchHeaderCodec.TYPE_HEADER);
    return type != null && new String(type, StandardCharsets.UTF_8).equals(CorrectionCodec.TYPE);
  }

  private static Correction decode(SimulatedLog.Entry entry) {
    try {
      return CorrectionCodec.decode(entry.value());
    } catch (MalformedRecordException malformed) {
      throw new InvariantBroken(Invariant.CORRECTIONS, "a correction cannot be read: " + malformed);
    }
  }

  private void close() {
    long begun = world.scheduler().nowMicros();
    long lastCallMillis = world.redis().clock().epochMillis() - QUIET_MICROS / 1_000;
    long closedMillis = lastCallMillis + Plan.WINDOW_MILLIS;
    for (int partition = 0; partition < world.kafka().partitions(); partition++) {
      while (world.ledger(partition).closedThrough() < closedMillis
          || world.counters().get(partition).committed() < world.kafka().calls(partition).end()) {
        require(
            world.scheduler().nowMicros() < begun + MOST_CLOSING_MICROS,
            Invariant.LIVENESS,
            "partition " + partition + " is not closed through " + closedMillis);
        pass(SECOND_MICROS / 4);
      }
    }
    pass(SECOND_MICROS);
  }

  private void reckon() {
    List<LogLines.Line> all = new ArrayList<>();
    long quarantined = 0;
    long quarantinedLines = 0;
    for (int partition = 0; partition < world.kafka().partitions(); partition++) {
      List<LogLines.Line> lines = LogLines.of(partition, world.kafka().calls(partition));
      all.addAll(lines);
      Recount recount = new Recount(lines, world.plan().settings().maxEndpoints());
      world.ledger(partition).check(recount.rows());
      checkVerdicts(recount, partition);
      PartitionProgress.Counters counters = counters(partition);
      quarantined += world.kafka().quarantine(partition).end();
      quarantinedLines += counters.quarantined();
      long sent = lines.size() + counters.quarantined();
      require(
          counters.received() == sent,
          Invariant.EQUATION,
          "partition " + partition + " was sent " + sent + " lines, but reports " + counters);
    }
    world.calls().check(all);
    require(
        quarantined == world.faults().badRecords() && quarantinedLines == world.faults().badLines(),
        Invariant.EQUATION,
        quarantined
            + " records are in the quarantine, but "
            + world.faults().badRecords()
            + " are bad");
  }

  /** Checks that each settlement has one verdict, and that the verdict agrees with the ledger. */
  private void checkVerdicts(Recount recount, int partition) {
    List<SettlementVerdict> published = new ArrayList<>();
    for (SimulatedLog.Entry entry : world.kafka().settlements(partition).all()) {
      try {
        published.add(SettlementVerdictCodec.decode(entry.value()));
      } catch (MalformedRecordException malformed) {
        throw new InvariantBroken(Invariant.BILLED, "a verdict cannot be read: " + malformed);
      }
    }
    require(
        published.equals(recount.verdicts()),
        Invariant.BILLED,
        "the settlement verdicts are " + published + ", but must be " + recount.verdicts());
  }

  private PartitionProgress.Counters counters(int partition) {
    PartitionProgress.Counters newest = PartitionProgress.Counters.ZERO;
    String key = PartitionProgressCodec.key(partition);
    for (SimulatedLog.Entry entry : world.kafka().states(partition).all()) {
      byte[] name = entry.key();
      if (name != null && new String(name, StandardCharsets.UTF_8).equals(key)) {
        try {
          newest = PartitionProgressCodec.decode(entry.value()).counters();
        } catch (MalformedRecordException malformed) {
          throw new InvariantBroken(Invariant.EQUATION, "a progress cannot be read: " + malformed);
        }
      }
    }
    return newest;
  }
}
