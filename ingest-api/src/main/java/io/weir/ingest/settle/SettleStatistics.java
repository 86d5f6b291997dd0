// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/** Counts the outcomes of requests to settle calls since the start. Thread-safe. */
final class SettleStatistics {
  private final Map<Result, Counter> counters = new EnumMap<>(Result.class);

  SettleStatistics(MeterRegistry registry) {
    for (Result each : Result.values()) {
      counters.put(
          each,
          Counter.builder("weir.settlements")
              .description("requests to settle a call, by result")
              .tag("result", each.name().toLowerCase(Locale.ROOT).replace('_', '-'))
              .register(registry));
    }
  }

  /** The kinds of outcome. */
  enum Result {
    /** The settlement changed the bill. */
    SETTLED,
    /** The settlement was recorded, but the aggregator's verdict did not arrive in time. */
    PENDING,
    /** The call was already billed at this cost. */
    UNCHANGED,
    /**
     * The search read a part of the calls topic, and found no attempt of the call, or only denied
     * attempts.
     */
    NOT_FOUND,
    /** The call was denied, was not billed, or is already settled at another cost. */
    CONFLICT,
    /** The client's searches have used up the client's read budget. */
    EXHAUSTED,
    /** The search failed, or the settlement could not be recorded. */
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

  Counter of(Result result) {
    return Objects.requireNonNull(counters.get(result));
  }
}
