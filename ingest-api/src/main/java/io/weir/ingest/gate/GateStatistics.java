// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/**
 * Metrics of the gate since its start. Invariant: checks = allowed + denied (for all values of
 * {@link DecidedBy}) + not recorded ({@link #notKept}) + shed + keys refused ({@link #keys}). A
 * peek is counted only if it is shed or its key is refused. Thread-safe.
 */
final class GateStatistics {
  /** Calls answered with 503 because the log could not record the call. */
  final Counter notKept;

  /** Checks and peeks answered with 503 because this node was too busy for a cache query. */
  final Counter shed;

  /** Checks and peeks to which the cache did not reply. */
  final Counter undecided;

  /** Policies that matched a check but exceeded the maximum number of policies per check. */
  final Counter policiesLeftOut;

  /** Finds clients by their API keys, and counts refused keys. */
  final KeyLookup keys;

  /** Counts the checks that match no policy. */
  final UnmatchedCalls unmatched;

  /** Counts acquired, renewed and released slots. */
  final SlotStatistics slots;

  private final Map<DecidedBy, Counter> allowed;
  private final Map<DecidedBy, Counter> denied;

  GateStatistics(MeterRegistry registry, LocalDecider local) {
    keys = new KeyLookup(registry);
    slots = new SlotStatistics(registry);
    unmatched = new UnmatchedCalls(registry);
    allowed = checks(registry, "allowed");
    denied = checks(registry, "denied");
    notKept =
        Counter.builder("weir.checks.not.kept")
            .description("checks answered 503 because they could not be recorded")
            .register(registry);
    undecided =
        Counter.builder("weir.checks.undecided")
            .description("checks and peeks to which the cache did not reply")
            .register(registry);
    shed =
        Counter.builder("weir.calls.shed")
            .description("calls answered 503 because of overload, before any processing")
            .tag("reason", "not-asked")
            .register(registry);
    policiesLeftOut =
        Counter.builder("weir.policies.left.out")
            .description(
                "policies that matched a call but exceeded the maximum number of policies per check")
            .register(registry);
    Gauge.builder("weir.local.buckets", local, LocalDecider::bucketCount)
        .description("buckets of local decisions")
        .register(registry);
    // the decider counts discarded buckets under its lock, in a package that does not depend on
    // Micrometer
    FunctionCounter.builder("weir.local.buckets.forgotten", local, LocalDecider::forgottenBuckets)
        .description(
            "buckets of local decisions that were removed because there were too many; a removed"
                + " bucket starts full again")
        .register(registry);
  }

  private static Map<DecidedBy, Counter> checks(MeterRegistry registry, String verdict) {
    Map<DecidedBy, Counter> counters = new EnumMap<>(DecidedBy.class);
    for (DecidedBy by : DecidedBy.values()) {
      counters.put(
          by,
          Counter.builder("weir.checks")
              .description("checks that were decided and recorded")
              .tag("decided_by", by.wireName())
              .tag("verdict", verdict)
              .register(registry));
    }
    return counters;
  }

  void count(CallEvent call) {
    (call.allowed() ? allowed(call.decidedBy()) : denied(call.decidedBy())).increment();
  }

  Counter allowed(DecidedBy by) {
    return Objects.requireNonNull(allowed.get(by));
  }

  Counter denied(DecidedBy by) {
    return Objects.requireNonNull(denied.get(by));
  }
}
