// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.cli.replay.ReplayReport.Finding;
import io.weir.limits.TokenBucketLimit;
import io.weir.testing.SuiteForm;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Histories of the real decider are explained; altered ones are found. */
final class ReplayModelTest {
  private static final int STEPS = 400;
  private static final int CALM_SEEDS = SuiteForm.isFull() ? 60 : 15;
  private static final int TROUBLED_SEEDS = SuiteForm.isFull() ? 300 : 75;

  @TempDir private Path folder;

  /** Replays calls in an order in which they may stand in a log: batches of nodes, mixed. */
  static ReplayReport replay(Path folder, List<CallEvent> calls, PolicyVersions versions, long seed)
      throws IOException {
    Random random = new Random(seed);
    List<List<CallEvent>> batches = new ArrayList<>();
    for (int i = 0; i < calls.size(); ) {
      int size = Math.min(calls.size() - i, 1 + random.nextInt(40));
      batches.add(calls.subList(i, i + size));
      i += size;
    }
    Collections.shuffle(batches, random);
    if (random.nextBoolean() && !batches.isEmpty()) {
      batches.add(batches.get(0)); // a batch that was sent twice
    }
    try (CallReplay replay =
        new CallReplay(
            new CallReplay.Settings(
                Instant.EPOCH, Instant.parse("2200-01-01T00:00:00Z"), null, folder, 2),
            versions)) {
      for (int i = 0; i < batches.size(); i++) {
        replay.add(0, i, CallBatchWriter.encode(batches.get(i)));
      }
      ReplayTally tally = replay.finish((what, done, total) -> {});
      List<ReplayReport.Difference> differences = new ArrayList<>();
      for (Finding finding : tally.findings()) {
        int batch = (int) Row.offset(finding.place());
        differences.add(replay.named(finding, CallBatchWriter.encode(batches.get(batch))));
      }
      return new ReplayReport(tally, differences, List.of());
    }
  }

  private ReplayReport replay(History history, long seed) throws IOException {
    return replay(folder, history.calls, history.versions(), seed);
  }

  @Test
  void calmHistories_areEqual() throws IOException {
    for (long seed = 0; seed < CALM_SEEDS; seed++) {
      ReplayReport report = replay(new History(seed, History.Trouble.NONE).run(STEPS), seed);

      assertEquals(List.of(), report.differences(), "seed " + seed);
      assertEquals(0, report.tally().causes().getOrDefault(Cause.CORRECTION, 0L), "seed " + seed);
      assertEquals(0, report.tally().causes().getOrDefault(Cause.OVERLAP, 0L), "seed " + seed);
      assertTrue(report.tally().equalStamps > 50, "seed " + seed);
    }
  }

  /** A call begins on a node in one window, and is decided by the cache's clock in the next. */
  @Test
  void shortWindowsOfNodesWithClocksApart_areEqual() throws IOException {
    String[] policies = {
      "{'name':'second','limit':{'algorithm':'fixed-window','limit':9,'window':'PT1S'}}",
      "{'name':'three','limit':{'algorithm':'fixed-window','limit':20,'window':'PT3S'}}",
    };
    for (long seed = 0; seed < 10; seed++) {
      History history =
          new History(seed, History.Trouble.NONE, policies, new String[0][], 900).run(STEPS);

      assertEquals(List.of(), replay(history, seed).differences(), "seed " + seed);
    }
  }

  /** The client's own limit determines whether a bucket is recorded. */
  @Test
  void clientsWithAnotherAlgorithmThanThePolicy_areEqual() throws IOException {
    String[] policies = {
      "{'name':'exact','limit':{'algorithm':'sliding-log','limit':9,'window':'PT2S'}}",
      "{'name':'burst','limit':{'capacity':10,'refill_tokens':7,'refill_period':'PT3S'}}",
      "{'kind':'client','name':'a','limits':{"
          + "'exact':{'capacity':9,'refill_tokens':5,'refill_period':'PT2S'},"
          + "'burst':{'algorithm':'sliding-log','limit':9,'window':'PT2S'}}}",
      "{'kind':'client','name':'b','limits':{"
          + "'exact':{'algorithm':'sliding-window','limit':9,'window':'PT2S','reset_jitter':'PT1S'}}}",
    };
    for (long seed = 0; seed < 10; seed++) {
      History history =
          new History(seed, History.Trouble.NONE, policies, new String[0][], 900).run(STEPS);
      ReplayReport report = replay(history, seed);

      assertEquals(List.of(), report.differences(), "seed " + seed);
      assertTrue(report.tally().equalStamps > 50, "seed " + seed);
    }
  }

  /** Also where the policy that takes a place looks at what is not recorded. */
  @Test
  void policiesThatTakeThePlaceOfOthers_areEqual() throws IOException {
    String[] policies = {
      "{'name':'burst','limit':{'capacity':10,'refill_tokens':7,'refill_period':'PT3S'}}",
      "{'name':'calls','match':{'meter':['calls']},'replaces':['burst'],"
          + "'limit':{'capacity':5,'refill_tokens':1,'refill_period':'PT1S'}}",
      "{'name':'region','match':{'meter':['jobs'],'attributes':{'region':['eu']}},"
          + "'replaces':['burst','jobs'],"
          + "'limit':{'capacity':4,'refill_tokens':1,'refill_period':'PT1S'}}",
      "{'name':'jobs','match':{'meter':['jobs']},"
          + "'limit':{'capacity':6,'refill_tokens':2,'refill_period':'PT1S'}}",
    };
    for (long seed = 0; seed < 20; seed++) {
      History history =
          new History(seed, History.Trouble.NONE, policies, new String[0][], 0).run(STEPS);
      ReplayReport report = replay(history, seed);

      assertEquals(List.of(), report.differences(), "seed " + seed);
      assertTrue(report.tally().equalStamps > 50, "seed " + seed);
    }
  }

  @Test
  void troubledHistories_areExplained() throws IOException {
    Map<Cause, Long> named = new EnumMap<>(Cause.class);
    for (long seed = 0; seed < TROUBLED_SEEDS; seed++) {
      Random random = new Random(seed);
      History.Trouble trouble =
          seed % 3 == 0
              ? History.Trouble.ALL
              : new History.Trouble(
                  random.nextBoolean(),
                  random.nextBoolean(),
                  random.nextInt(4) == 0,
                  random.nextBoolean(),
                  random.nextBoolean(),
                  random.nextInt(4) == 0,
                  random.nextBoolean(),
                  random.nextBoolean());
      ReplayReport report = replay(new History(seed, trouble).run(STEPS), seed);

      assertEquals(List.of(), report.differences(), "seed " + seed + " " + trouble);
      report.tally().causes().forEach((cause, count) -> named.merge(cause, count, Long::sum));
    }
    for (Cause cause : Cause.values()) {
      boolean happens =
          cause != Cause.POLICIES_UNKNOWN && cause != Cause.CUT_TIME && cause != Cause.BEFORE_RANGE;
      assertTrue(!happens || named.containsKey(cause), cause + " was never named: " + named);
    }
  }

  /** One alteration of a recorded call. */
  private enum Mutation {
    /** Always seen, since a verdict has its charges. */
    VERDICT(1),
    /** Always seen, since the policies are known. */
    LIMIT(1),
    /** Not seen where the bucket was full and the time stays in the millisecond of the call. */
    FULL_AT(0.8),
    /** Not seen where the bucket was full: then it looks like a charge without a record. */
    CHARGED(0.25),
    /** Not seen where the bucket was not full, or where it looks like a clock that went back. */
    TIME(0.4),
    /** Not seen on a denial, of which a greater cost is denied, too. */
    COST(0.6);

    private final double leastPart;

    Mutation(double leastPart) {
      this.leastPart = leastPart;
    }

    /** Returns an altered call; null if this call cannot be altered so. */
    @Nullable CallEvent of(CallEvent call, Random random) {
      boolean hasStamp = !call.charges().isEmpty() && call.charges().get(0).stamp() != null;
      if (this == VERDICT) {
        return with(
            call, call.cost(), !call.allowed(), call.decidedAtEpochMillis(), call.charges());
      }
      if (!hasStamp) {
        return null;
      }
      int index = random.nextInt(call.charges().size());
      Charge charge = call.charges().get(index);
      Stamp stamp = Objects.requireNonNull(charge.stamp());
      long by = (1L + random.nextInt(random.nextBoolean() ? 20 : 2_000_000));
      by = random.nextBoolean() ? by : -by;
      switch (this) {
        case LIMIT -> {
          if (!(charge.limit() instanceof TokenBucketLimit limit)) {
            return null;
          }
          return withCharge(
              call,
              index,
              new Charge(
                  charge.bucket(),
                  charge.cost(),
                  new TokenBucketLimit(
                      limit.capacityTokens() + 1, limit.refillTokens(), limit.refillPeriodMicros()),
                  stamp));
        }
        case FULL_AT -> {
          return withCharge(
              call,
              index,
              new Charge(
                  charge.bucket(),
                  charge.cost(),
                  charge.limit(),
                  new Stamp(
                      stamp.epoch(),
                      stamp.version(),
                      stamp.charged(),
                      stamp.fullAtEpochMicros() + by)));
        }
        case CHARGED -> {
          long charged = Math.max(charge.cost(), stamp.charged() + by % 5 + (by % 5 == 0 ? 1 : 0));
          return charged == stamp.charged()
              ? null
              : withCharge(
                  call,
                  index,
                  new Charge(
                      charge.bucket(),
                      charge.cost(),
                      charge.limit(),
                      new Stamp(
                          stamp.epoch(), stamp.version(), charged, stamp.fullAtEpochMicros())));
        }
        case TIME -> {
          return with(
              call, call.cost(), call.allowed(), call.decidedAtEpochMillis() + by, call.charges());
        }
        case COST -> {
          return with(
              call, call.cost() + 1, call.allowed(), call.decidedAtEpochMillis(), call.charges());
        }
        default -> throw new IllegalStateException();
      }
    }

    private static CallEvent withCharge(CallEvent call, int index, Charge charge) {
      List<Charge> charges = new ArrayList<>(call.charges());
      charges.set(index, charge);
      return with(call, call.cost(), call.allowed(), call.decidedAtEpochMillis(), charges);
    }

    private static CallEvent with(
        CallEvent call, long cost, boolean allowed, long atMillis, List<Charge> charges) {
      return new CallEvent(
          call.id(),
          call.idFromCaller(),
          call.client(),
          call.endpoint(),
          call.meter(),
          cost,
          allowed,
          call.decidedBy(),
          call.policy(),
          call.policiesVersion(),
          atMillis,
          call.ipPrefix(),
          charges);
    }
  }

  @Test
  void alteredHistories_areFound() throws IOException {
    Map<Mutation, int[]> found = new EnumMap<>(Mutation.class);
    for (long seed = 0; seed < 30; seed++) {
      History history = new History(seed, History.Trouble.NONE).run(STEPS);
      Random random = new Random(seed);
      for (Mutation mutation : Mutation.values()) {
        for (int tries = 0; tries < 3; tries++) {
          int index = random.nextInt(history.calls.size());
          CallEvent altered = mutation.of(history.calls.get(index), random);
          if (altered == null || altered.decidedBy() == DecidedBy.LOCAL) {
            continue;
          }
          List<CallEvent> calls = new ArrayList<>(history.calls);
          calls.set(index, altered);
          ReplayReport report = replay(folder, calls, history.versions(), seed);
          int[] counts = found.computeIfAbsent(mutation, each -> new int[2]);
          counts[0]++;
          counts[1] += report.tally().unexplained > 0 ? 1 : 0;
        }
      }
    }
    for (Mutation mutation : Mutation.values()) {
      int[] counts = Objects.requireNonNull(found.get(mutation));
      assertTrue(
          counts[1] >= counts[0] * mutation.leastPart,
          mutation + ": " + counts[1] + " of " + counts[0]);
    }
  }
}
