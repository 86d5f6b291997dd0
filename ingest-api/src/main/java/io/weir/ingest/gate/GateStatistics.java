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
 * Metrics of the gate since its start. Invariant: checks = allowed + denied (over all of {@link
 * DecidedBy}) + not kept + shed + keys refused ({@link #keys}); of peeks only those that are shed,
 * or whose key is refused, are counted. Thread-safe.
 */
final class GateStatistics {
  /** Calls answered 503 because their record could not be kept. */
  final Counter notKept;

  /** Checks and peeks answered 503 because this process was too busy to ask the cache. */
  final Counter shed;

  /** Checks and peeks that the cache did not answer. */
  final Counter undecided;

  /** Policies that matched a check and exceeded the maximum number of policies per check. */
  final Counter policiesLeftOut;

  /** Finds clients by their keys, and counts those that are refused. */
  final KeyLookup keys;

  /** Counts the checks that no policy matches. */
  final UnmatchedCalls unmatched;

  /** Counts what becomes of slots. */
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
            .description("checks answered 503 since they could not be recorded")
            .register(registry);
    undecided =
        Counter.builder("weir.checks.undecided")
            .description("checks and peeks the cache did not answer")
            .register(registry);
    shed =
        Counter.builder("weir.calls.shed")
            .description("calls answered 503 before anything was done for them")
            .tag("reason", "not-asked")
            .register(registry);
    policiesLeftOut =
        Counter.builder("weir.policies.left.out")
            .description(
                "policies that matched a call and were not evaluated: more than fit into a check")
            .register(registry);
    Gauge.builder("weir.local.buckets", local, LocalDecider::bucketCount)
        .description("buckets of local decisions")
        .register(registry);
    // counted under the lock of the buckets, in a package that depends on the JDK alone
    FunctionCounter.builder("weir.local.buckets.forgotten", local, LocalDecider::forgottenBuckets)
        .description("buckets of local decisions that began full again for want of room")
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
