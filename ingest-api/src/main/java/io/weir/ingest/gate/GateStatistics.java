// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts of the gate since its start. Checks = allowed + denied (over all of {@link DecidedBy}) +
 * not kept + shed; of peeks only those shed are counted. Safe for threads.
 */
public final class GateStatistics {
  private final Map<DecidedBy, LongAdder> allowed = adders();
  private final Map<DecidedBy, LongAdder> denied = adders();
  final LongAdder notKept = new LongAdder();
  final LongAdder shed = new LongAdder();
  final LongAdder undecided = new LongAdder();
  final LongAdder policiesLeftOut = new LongAdder();

  GateStatistics() {}

  private static Map<DecidedBy, LongAdder> adders() {
    Map<DecidedBy, LongAdder> adders = new EnumMap<>(DecidedBy.class);
    for (DecidedBy decidedBy : DecidedBy.values()) {
      adders.put(decidedBy, new LongAdder());
    }
    return adders;
  }

  void count(CallEvent call) {
    LongAdder adder = (call.allowed() ? allowed : denied).get(call.decidedBy());
    if (adder != null) {
      adder.increment();
    }
  }

  /** Calls let through and recorded, by who answered. */
  public long allowed(DecidedBy decidedBy) {
    return sum(allowed, decidedBy);
  }

  /** Calls refused and recorded, by who answered. */
  public long denied(DecidedBy decidedBy) {
    return sum(denied, decidedBy);
  }

  private static long sum(Map<DecidedBy, LongAdder> adders, DecidedBy decidedBy) {
    LongAdder adder = adders.get(decidedBy);
    return adder == null ? 0 : adder.sum();
  }

  /** Calls answered with 503 because their record could not be kept. */
  public long notKept() {
    return notKept.sum();
  }

  /** Checks and peeks answered with 503 because this process did not come to ask the cache. */
  public long shed() {
    return shed.sum();
  }

  /** Checks and peeks the cache did not answer. */
  public long undecided() {
    return undecided.sum();
  }

  /** Policies that matched a check but did not fit into it, and so were not evaluated. */
  public long policiesLeftOut() {
    return policiesLeftOut.sum();
  }
}
