// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketState;
import io.weir.limits.BucketView;
import io.weir.limits.KeptBuckets;
import io.weir.limits.LogState;
import io.weir.limits.SlotState;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.limits.correction.CorrectionRule;
import io.weir.topics.model.CacheRestored;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The server of the decision cache, with its buckets, the keys of its generation, its clock and its
 * faults. A Java implementation of Redis' scripts decides calls. Tests compare this implementation
 * with the scripts. The code for the server's generation follows {@code begin_restoration.lua},
 * {@code note_restored.lua} and related scripts.
 */
final class SimulatedRedis {
  /** The RESTORATION_TTL of the real scripts. */
  private static final long RESTORATION_TTL_MICROS = 60_000_000;

  private final SimClock clock;
  private final Edges edges;
  private long releases;
  private final CacheWitness witness;
  private Memory memory = new Memory();
  private String life = "life0";
  private int lives;
  private int generations;
  private boolean away;
  private boolean clockWasSet;
  private long disturbances;
  private final List<Subscriber> subscribers = new ArrayList<>();

  /** A connection that receives the server's published messages. */
  interface Subscriber {
    /** Called when a correction has returned tokens to a bucket. */
    void raised(String bucket);

    /** Called when the server has closed all connections. */
    void closed();
  }

  /** The data of the server, which may be lost. */
  private static final class Memory {
    TreeMap<String, Kept<BucketState>> buckets = new TreeMap<>();
    TreeMap<String, Kept<LogState>> logs = new TreeMap<>();
    TreeMap<String, Kept<SlotState>> slots = new TreeMap<>();
    String marker = "";
    String restoring = "";
    long restoringUntilMicros;
    TreeMap<String, TreeSet<Integer>> restored = new TreeMap<>();

    Memory copy() {
      Memory copy = new Memory();
      copy.buckets = new TreeMap<>(buckets);
      copy.logs = new TreeMap<>(logs);
      copy.slots = new TreeMap<>(slots);
      copy.marker = marker;
      copy.restoring = restoring;
      copy.restoringUntilMicros = restoringUntilMicros;
      restored.forEach((generation, parts) -> copy.restored.put(generation, new TreeSet<>(parts)));
      return copy;
    }
  }

  /** An older state of the server, such as the state of a replica or a file. */
  static final class Snapshot {
    private final Memory memory;

    private Snapshot(Memory memory) {
      this.memory = memory;
    }
  }

  private record Kept<T>(T content, long expiresEpochMicros) {}

  /** The current buckets. */
  private final class KeptNow implements KeptBuckets {
    @Override
    public @Nullable BucketState state(String bucket) {
      return now(memory.buckets.get(bucket));
    }

    @Override
    public @Nullable LogState log(String bucket) {
      return now(memory.logs.get(bucket));
    }

    @Override
    public @Nullable SlotState slots(String bucket) {
      return now(memory.slots.get(bucket));
    }
  }

  SimulatedRedis(SimClock clock, Edges edges, CacheWitness witness, boolean warm) {
    this.clock = clock;
    this.edges = edges;
    this.witness = witness;
    memory.marker = warm ? life : "";
  }

  SimClock clock() {
    return clock;
  }

  /** Sets the clock forward, or back if {@code byMicros} is negative. */
  void stepClock(long byMicros) {
    clockWasSet = true;
    disturbances++;
    clock.step(byMicros);
    if (byMicros < 0) {
      witness.clockSetBack(-byMicros);
    }
  }

  boolean wasClockSet() {
    return clockWasSet;
  }

  boolean isAway() {
    return away;
  }

  void setAway(boolean nowAway) {
    away = nowAway;
    if (nowAway) {
      closeConnections();
    }
  }

  void subscribe(Subscriber subscriber) {
    subscribers.add(subscriber);
  }

  void unsubscribe(Subscriber subscriber) {
    subscribers.remove(subscriber);
  }

  private void closeConnections() {
    subscribers.forEach(Subscriber::closed);
  }

  /**
   * Returns the number of losses and clock steps. A loss or a step can add tokens to buckets
   * without a correction.
   */
  long disturbances() {
    return disturbances;
  }

  boolean isWarm() {
    return memory.marker.equals(life);
  }

  String life() {
    return life;
  }

  Snapshot snapshot() {
    return new Snapshot(memory.copy());
  }

  void flush() {
    memory = new Memory();
    disturbances++;
    witness.cacheLost(Map.of(), true);
  }

  /**
   * Continues from an older state.
   *
   * @param seen whether the nodes can detect that another server has taken over
   */
  void comeBackAs(Snapshot older, boolean seen) {
    Memory before = memory;
    memory = older.memory.copy();
    disturbances++;
    if (seen) {
      life = "life" + ++lives;
      closeConnections();
    }
    witness.cacheLost(chargedSince(before), seen);
  }

  private Map<String, Long> chargedSince(Memory newer) {
    Map<String, Long> tokens = new HashMap<>();
    newer.buckets.forEach(
        (bucket, kept) -> {
          Kept<BucketState> older = memory.buckets.get(bucket);
          long known =
              older != null && older.content.epoch() == kept.content.epoch()
                  ? older.content.chargedTokens()
                  : 0;
          tokens.put(bucket, Math.max(0, kept.content.chargedTokens() - known));
        });
    return tokens;
  }

  /** Starts again with an empty data set, as a server without a file does. */
  void comeBackEmpty() {
    memory = new Memory();
    life = "life" + ++lives;
    disturbances++;
    closeConnections();
    witness.cacheLost(Map.of(), true);
  }

  /** Returns the current state of a bucket; null if Redis has no such bucket. */
  @Nullable BucketState kept(String bucket) {
    return new KeptNow().state(bucket);
  }

  private <T> @Nullable T now(@Nullable Kept<T> kept) {
    return kept == null || kept.expiresEpochMicros <= clock.epochMicros() ? null : kept.content;
  }

  /** Returns the bucket as a decision would see it now. */
  BucketView view(BucketRequest request) {
    return request.limit().view(request.bucket(), new KeptNow(), clock.epochMicros());
  }

  Decision decide(Check check, boolean peek) {
    CheckDecider.Outcome outcome =
        edges.decide(check, peek, isWarm(), clock.epochMicros(), new KeptNow());
    witness.decided(check, outcome);
    return written(outcome);
  }

  /** Releases the slots of a holder. */
  Decision release(Check check) {
    releases++;
    return written(edges.release(check, clock.epochMicros(), new KeptNow()));
  }

  /** Returns the number of requests to release slots. */
  long releases() {
    return releases;
  }

  /** Returns whether a holder has a slot now. */
  boolean isHeld(String bucket, String holder) {
    SlotState kept = new KeptNow().slots(bucket);
    Long until = kept == null ? null : kept.byHolder().get(holder);
    return until != null && until > clock.epochMicros();
  }

  private Decision written(CheckDecider.Outcome outcome) {
    for (CheckDecider.Write write : outcome.writes()) {
      keep(write.bucket(), write.state(), write.ttlMillis());
    }
    for (CheckDecider.Restart restart : outcome.restarts()) {
      memory.buckets.computeIfPresent(
          restart.bucket(),
          (bucket, kept) -> new Kept<>(restart.state(), kept.expiresEpochMicros()));
    }
    for (CheckDecider.LogWrite write : outcome.logs()) {
      memory.logs.put(write.bucket(), lasting(write.log(), write.ttlMillis()));
    }
    for (CheckDecider.SlotWrite write : outcome.slots()) {
      memory.slots.put(write.bucket(), lasting(write.slots(), write.ttlMillis()));
    }
    return outcome.decision();
  }

  List<CorrectionOutcome> correct(List<BoundedCorrection> corrections) {
    List<CorrectionOutcome> outcomes = new ArrayList<>();
    for (BoundedCorrection correction : corrections) {
      String bucket = correction.correction().bucket();
      BucketState before = kept(bucket);
      CorrectionRule.Result result = edges.correct(correction, before, clock.epochMicros());
      witness.corrected(correction, before, result);
      if (result.state() != null) {
        keep(bucket, result.state(), result.ttlMillis());
        if (isRaised(correction.correction().limit().arithmetic(), before, result.state())) {
          subscribers.forEach(subscriber -> subscriber.raised(bucket));
        }
      }
      outcomes.add(result.outcome());
    }
    return outcomes;
  }

  private boolean isRaised(
      BucketArithmetic arithmetic, @Nullable BucketState before, BucketState after) {
    long now = clock.epochMicros();
    return arithmetic.levelUnits(arithmetic.refill(after, now))
        > arithmetic.levelUnits(arithmetic.refill(before, now));
  }

  private void keep(String bucket, BucketState state, long ttlMillis) {
    memory.buckets.put(bucket, lasting(state, ttlMillis));
  }

  private <T> Kept<T> lasting(T content, long ttlMillis) {
    return new Kept<>(content, clock.epochMicros() + ttlMillis * 1_000);
  }

  /**
   * Returns the name of the restoration that the node must announce; null if no restoration is
   * necessary.
   */
  @Nullable String beginRestoration() {
    boolean goesOn =
        memory.restoring.startsWith(life + "-")
            && memory.restoringUntilMicros > clock.epochMicros();
    if (isWarm() || goesOn) {
      return null;
    }
    memory.restoring = life + "-" + ++generations;
    memory.restoringUntilMicros = clock.epochMicros() + RESTORATION_TTL_MICROS;
    if (edges.isWarmAtOnce()) {
      memory.marker = life;
    }
    return memory.restoring;
  }

  void abandonRestoration(String generation) {
    memory.restored.remove(generation);
    if (memory.restoring.equals(generation)) {
      memory.restoring = "";
    }
  }

  boolean noteRestored(CacheRestored word) {
    String generation = word.generation();
    boolean current =
        memory.restoring.equals(generation)
            && memory.restoringUntilMicros > clock.epochMicros()
            && generation.startsWith(life + "-");
    if (current) {
      TreeSet<Integer> noted =
          memory.restored.computeIfAbsent(generation, unheard -> new TreeSet<>());
      noted.add(word.partition());
      memory.restoringUntilMicros = clock.epochMicros() + RESTORATION_TTL_MICROS;
      if (noted.size() >= word.partitions()) {
        memory.marker = life;
        memory.restoring = "";
        memory.restored.remove(generation);
      }
    }
    return isWarm();
  }
}
