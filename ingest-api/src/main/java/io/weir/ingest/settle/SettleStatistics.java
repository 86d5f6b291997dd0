// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/** What became of the calls that were to be settled, since the start. Safe for threads. */
public final class SettleStatistics {
  private final Map<Result, LongAdder> counts = new EnumMap<>(Result.class);

  SettleStatistics() {
    for (Result each : Result.values()) {
      counts.put(each, new LongAdder());
    }
  }

  /** The kinds of outcome. */
  public enum Result {
    /** It changed the bill. */
    SETTLED,
    /** Recorded; what the counting does with it was not told in time. */
    PENDING,
    /** Stood so already. */
    UNCHANGED,
    /** No such call, or only a denied try of it, in what was read. */
    NOT_FOUND,
    /** The call was denied, not billed, or settled at another cost before. */
    CONFLICT,
    /** The client's searches have read too much. */
    EXHAUSTED,
    /** Could not be searched for, or not be kept. */
    UNAVAILABLE
  }

  void count(SettleOutcome outcome) {
    of(result(outcome)).increment();
  }

  private static Result result(SettleOutcome outcome) {
    if (outcome instanceof SettleOutcome.Settled settled) {
      return settled.changed() ? Result.SETTLED : Result.UNCHANGED;
    }
    if (outcome instanceof SettleOutcome.Pending) {
      return Result.PENDING;
    }
    if (outcome instanceof SettleOutcome.NotFound
        || outcome instanceof SettleOutcome.OnlyDeniedTry) {
      return Result.NOT_FOUND;
    }
    if (outcome instanceof SettleOutcome.Exhausted) {
      return Result.EXHAUSTED;
    }
    return outcome instanceof SettleOutcome.Unavailable ? Result.UNAVAILABLE : Result.CONFLICT;
  }

  /** How many came to this. */
  public long count(Result result) {
    return of(result).sum();
  }

  private LongAdder of(Result result) {
    return Objects.requireNonNull(counts.get(result));
  }
}
