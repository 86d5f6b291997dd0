// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts of the gate since its start. Invariant: checks = allowed + denied (over all of {@link
 * DecidedBy}) + not kept + shed; of peeks only the shed ones are counted. Thread-safe.
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

  /** Returns the number of calls allowed and recorded, by who decided. */
  public long allowed(DecidedBy decidedBy) {
    return sum(allowed, decidedBy);
  }

  /** Returns the number of calls denied and recorded, by who decided. */
  public long denied(DecidedBy decidedBy) {
    return sum(denied, decidedBy);
  }

  private static long sum(Map<DecidedBy, LongAdder> adders, DecidedBy decidedBy) {
    LongAdder adder = adders.get(decidedBy);
    return adder == null ? 0 : adder.sum();
  }

  /** Returns the number of calls answered 503 because their record could not be kept. */
  public long notKept() {
    return notKept.sum();
  }

  /**
   * Returns the number of checks and peeks answered 503 because this process was too busy to ask
   * the cache.
   */
  public long shed() {
    return shed.sum();
  }

  /** Returns the number of checks and peeks that the cache did not answer. */
  public long undecided() {
    return undecided.sum();
  }

  /**
   * Returns the number of policies that matched a check but exceeded the maximum number of policies
   * per check, and so were not evaluated.
   */
  public long policiesLeftOut() {
    return policiesLeftOut.sum();
  }
}
