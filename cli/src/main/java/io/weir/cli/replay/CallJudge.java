// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.CallLine;
import io.weir.cli.replay.Expectations.Expectation;
import io.weir.cli.replay.ReplayReport.Finding;
import io.weir.limits.policy.CacheFailureMode;
import java.io.IOException;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Judges each line by itself and by the policies of its version. Adds a row for each stamp and each
 * repeated denial; {@link BucketReplay} judges these rows by bucket. Not thread-safe.
 */
final class CallJudge {
  /**
   * Maximum difference between a node's time, which selects the period and the policies, and the
   * time of the decision. A node that starts while Kafka is unavailable follows within 15 s.
   */
  private static final long NODE_CLOCK_MILLIS = 16_000;

  /** The problem of a call if the record does not show which policies were evaluated. */
  private static final String UNKNOWABLE = "unknowable";

  private final Expectations expectations;
  private final SortedRows.Shards stamps;
  private final SortedRows.Shards denials;
  private final ReplayTally tally;
  private final long[] row = new long[Row.WIDTH];
  private final long[] denialRow = new long[Row.DENIAL_WIDTH];

  /**
   * Creates a judge.
   *
   * @param stamps receives the rows of stamps
   * @param denials receives the rows of repeated denials
   */
  CallJudge(
      Expectations expectations,
      SortedRows.Shards stamps,
      SortedRows.Shards denials,
      ReplayTally tally) {
    this.expectations = expectations;
    this.stamps = stamps;
    this.denials = denials;
    this.tally = tally;
  }

  void judge(CallLine call, long place) throws IOException {
    tally.call(call);
    if (call.decidedBy.isFailureMode()) {
      tally.explained(Cause.FAILURE_MODE);
    }
    String wrong = wrongShape(call);
    if (wrong != null) {
      find(call, place, "verdict", wrong);
    }
    addStamps(call, place);
    if (wrong == null) {
      judgePolicies(call, place);
    }
  }

  /**
   * Returns why a line contradicts its verdict or its {@code decided_by}; null if there is no
   * contradiction.
   */
  private static @Nullable String wrongShape(CallLine call) {
    boolean mayBe =
        switch (call.decidedBy) {
          case NONE, FAIL_OPEN, LEASE -> call.allowed;
          case FAIL_CLOSED, DENY_CACHE -> !call.allowed;
          case CACHE, LOCAL -> true;
        };
    if (!mayBe) {
      return "this decided_by " + (call.allowed ? "always denies" : "always allows");
    }
    boolean isStamped = call.decidedBy == CallLine.By.CACHE || call.decidedBy == CallLine.By.LEASE;
    int most =
        switch (call.decidedBy) {
          case NONE, FAIL_CLOSED, DENY_CACHE -> 0;
          case CACHE -> call.allowed ? Integer.MAX_VALUE : 1;
          case LOCAL -> call.allowed ? Integer.MAX_VALUE : 0;
          case LEASE, FAIL_OPEN -> Integer.MAX_VALUE;
        };
    if (call.charges() > most) {
      return "this verdict charges nothing";
    }
    if (call.charges() == 0 && call.decidedBy == CallLine.By.LEASE) {
      return "a lease charges a bucket";
    }
    for (int i = 0; i < call.charges(); i++) {
      CallLine.BucketCharge charge = call.charge(i);
      if (charge.isStamped != isStamped) {
        return isStamped ? "Redis stamps each bucket" : "Redis did not decide";
      }
      if (charge.cost != (call.allowed ? call.cost : 0)) {
        return "an allowed call takes its cost from each bucket, a denied call takes nothing";
      }
      if (charge.isStamped
          && charge.hasLimit
          && !charge.isTokenBucket
          && charge.fullAtMicros != charge.endsAtMicros) {
        return "the bucket of a period is full at its end";
      }
    }
    return null;
  }

  private void addStamps(CallLine call, long place) throws IOException {
    boolean isLease = call.decidedBy == CallLine.By.LEASE;
    for (int i = 0; i < call.charges(); i++) {
      CallLine.BucketCharge charge = call.charge(i);
      if (!charge.isStamped) {
        continue;
      }
      if (!charge.hasLimit || charge.fullAtMicros == 0) {
        tally.explained(Cause.NOT_RECORDED);
        continue;
      }
      row[Row.BUCKET] = charge.key.hash();
      row[Row.EPOCH] = charge.epoch;
      row[Row.CHARGED] = charge.charged;
      row[Row.VERSION] = charge.version;
      row[Row.WHEN] = Row.when(charge.cost == 0, call.decidedAtEpochMillis);
      row[Row.ID] = call.id.hash();
      row[Row.FULL_AT] = charge.fullAtMicros;
      row[Row.COST] = charge.cost == 0 ? call.cost : charge.cost;
      row[Row.LIMIT] = Row.limit(charge.limit, isLease);
      row[Row.PLACE] = place;
      stamps.add(row);
    }
  }

  private void judgePolicies(CallLine call, long place) throws IOException {
    long at = call.decidedAtEpochMillis;
    Expectation expected = expectations.of(call, at);
    if (expected == null) {
      tally.explained(Cause.POLICIES_UNKNOWN);
      return;
    }
    Expectation agreeing = expected;
    String problem = problem(call, expected);
    if (problem != null && !problem.equals(UNKNOWABLE)) {
      Expectation near = near(call, expected);
      if (near != null) {
        agreeing = near;
        problem = null;
      }
    }
    if (problem == null && agreeing.isCertain()) {
      tally.equalCalls++;
    } else if (problem == null || problem.equals(UNKNOWABLE)) {
      tally.explained(Cause.UNKNOWABLE);
    } else {
      find(call, place, "policies", problem + " (version " + call.policiesVersion + ")");
      return;
    }
    if (call.decidedBy == CallLine.By.DENY_CACHE) {
      addRepeatedDenial(call, place, agreeing);
    } else if (call.decidedBy == CallLine.By.CACHE && !call.allowed && call.charges() == 0) {
      Expectation.Bucket named = byPolicy(agreeing, call.policy);
      if (named != null && !named.isRecorded()) {
        tally.explained(Cause.NOT_RECORDED);
      }
    }
  }

  /**
   * Returns policies with which the call agrees, of a time near the call; null if there are none. A
   * node selects periods and policies by its own clock when it begins to process a call.
   */
  private @Nullable Expectation near(CallLine call, Expectation expected) {
    long at = call.decidedAtEpochMillis;
    Expectation earlier = expected;
    while (earlier != null && earlier.fromMillis() > at - NODE_CLOCK_MILLIS) {
      earlier = expectations.of(call, earlier.fromMillis() - 1);
      if (agrees(call, earlier)) {
        return earlier;
      }
    }
    Expectation later = expected;
    while (later != null && later.untilMillis() <= at + NODE_CLOCK_MILLIS) {
      later = expectations.of(call, later.untilMillis());
      if (agrees(call, later)) {
        return later;
      }
    }
    return null;
  }

  private static boolean agrees(CallLine call, @Nullable Expectation near) {
    return near != null && (near.isCut() || problem(call, near) == null);
  }

  private void addRepeatedDenial(CallLine call, long place, Expectation expected)
      throws IOException {
    Expectation.Bucket bucket = byPolicy(expected, call.policy);
    if (bucket == null || bucket.denies()) {
      return;
    }
    if (!bucket.isRecorded()) {
      tally.explained(Cause.NOT_RECORDED);
      return;
    }
    denialRow[Row.BUCKET] = bucket.key();
    denialRow[Row.DENIAL_AT] = call.decidedAtEpochMillis;
    denialRow[Row.DENIAL_COST] = call.cost;
    denialRow[Row.DENIAL_LIMIT] = bucket.limit();
    denialRow[Row.DENIAL_PLACE] = place;
    denials.add(denialRow);
  }

  /** Returns why a call disagrees with the policies; null if it agrees. */
  private static @Nullable String problem(CallLine call, Expectation expected) {
    if (expected.isCut()) {
      return UNKNOWABLE;
    }
    Expectation.Bucket named = byPolicy(expected, call.policy);
    for (Expectation.Bucket bucket : expected.buckets()) {
      if (bucket.denies()
          && bucket.isCertain()
          && (call.decidedBy != CallLine.By.DENY_CACHE || named == null || !named.denies())) {
        return "policy " + bucket.policy() + " denies every call";
      }
    }
    if (call.decidedBy == CallLine.By.NONE) {
      for (Expectation.Bucket bucket : expected.buckets()) {
        if (bucket.isCertain()) {
          return "policy " + bucket.policy() + " matches the call";
        }
      }
      return null;
    }
    String wrong = call.decidedBy.isFailureMode() ? problemOfFailure(call, expected, named) : null;
    if (wrong != null) {
      return wrong;
    }
    if (!call.allowed) {
      return problemOfDenial(call, expected, named);
    }
    return expected.buckets().isEmpty() ? "no policy matches the call" : charges(call, expected);
  }

  /**
   * Returns why a decision without Redis disagrees with {@code on_cache_failure}; null if it
   * agrees.
   */
  private static @Nullable String problemOfFailure(
      CallLine call, Expectation expected, Expectation.@Nullable Bucket named) {
    CacheFailureMode mode =
        switch (call.decidedBy) {
          case FAIL_CLOSED -> CacheFailureMode.CLOSED;
          case FAIL_OPEN -> CacheFailureMode.OPEN;
          default -> CacheFailureMode.LOCAL;
        };
    // without a policy's name all matched policies are in shadow mode, or Redis was only not
    // restored
    boolean isByNone = mode == CacheFailureMode.OPEN && call.policy.length() == 0;
    if (!isByNone && (named == null || !named.enforced() || named.onCacheFailure() != mode)) {
      return "no enforced policy of this name makes this decision without Redis";
    }
    for (Expectation.Bucket bucket : expected.buckets()) {
      boolean isDeciding = bucket.isCertain() && bucket.enforced() && bucket.isUndecidedWhenCold();
      if (isDeciding && isStricter(bucket.onCacheFailure(), mode)) {
        return "policy " + bucket.policy() + " makes another decision without Redis";
      }
    }
    return null;
  }

  private static boolean isStricter(CacheFailureMode mode, CacheFailureMode than) {
    return mode != than
        && (mode == CacheFailureMode.CLOSED
            || (mode == CacheFailureMode.LOCAL && than == CacheFailureMode.OPEN));
  }

  private static @Nullable String problemOfDenial(
      CallLine call, Expectation expected, Expectation.@Nullable Bucket named) {
    if (named == null || !named.enforced()) {
      return "no enforced policy of this name matches the call";
    }
    if (call.decidedBy != CallLine.By.CACHE) {
      return null;
    }
    if (call.charges() > 0) {
      return call.charge(0).key.hash() == named.key() && named.isRecorded()
          ? charges(call, expected)
          : "the bucket does not belong to the policy";
    }
    return named.isRecorded() && named.decidesAlone() && call.cost <= named.capacityTokens()
        ? "a bucket that was never charged has enough tokens"
        : null;
  }

  /**
   * Compares the recorded buckets and limits with those of the policies. Returns the first
   * difference; null if there is none.
   */
  private static @Nullable String charges(CallLine call, Expectation expected) {
    for (int i = 0; i < call.charges(); i++) {
      CallLine.BucketCharge charge = call.charge(i);
      Expectation.Bucket bucket = byKey(expected, charge.key.hash());
      if (bucket == null || !bucket.isRecorded()) {
        return "no policy has this bucket for the call: " + charge.key;
      }
      if (charge.hasLimit && charge.limit != bucket.limit()) {
        return "policy " + bucket.policy() + " has a different limit";
      }
    }
    if (!call.allowed) {
      return null;
    }
    for (Expectation.Bucket bucket : expected.buckets()) {
      if (bucket.isDue() && !isCharged(call, bucket)) {
        return "the bucket of policy " + bucket.policy() + " is not on the record";
      }
    }
    return null;
  }

  private static boolean isCharged(CallLine call, Expectation.Bucket bucket) {
    return IntStream.range(0, call.charges())
        .anyMatch(i -> call.charge(i).key.hash() == bucket.key());
  }

  private static Expectation.@Nullable Bucket byKey(Expectation expected, long key) {
    for (Expectation.Bucket bucket : expected.buckets()) {
      if (bucket.key() == key) {
        return bucket;
      }
    }
    return null;
  }

  private static Expectation.@Nullable Bucket byPolicy(Expectation expected, CallLine.Text policy) {
    for (Expectation.Bucket bucket : expected.buckets()) {
      if (policy.length() > 0 && bucket.policyHash() == policy.hash()) {
        return bucket;
      }
    }
    return null;
  }

  private void find(CallLine call, long place, String what, String again) {
    StringBuilder recorded = new StringBuilder(call.allowed ? "allowed" : "denied");
    recorded.append(" by ").append(call.decidedBy.shown()).append(", cost ").append(call.cost);
    if (call.policy.length() > 0) {
      recorded.append(", policy ").append(call.policy);
    }
    for (int i = 0; i < call.charges(); i++) {
      recorded.append(i == 0 ? ", charges " : ", ").append(call.charge(i).key);
    }
    tally.unexplained(
        new Finding(place, call.decidedAtEpochMillis, 0, what, recorded.toString(), again));
  }
}
