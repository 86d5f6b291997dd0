// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.settle.Settler;
import io.weir.limits.policy.CallFacts;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Gives hits back by settling the newest calls of the same descriptor that this node recorded. Hits
 * of unknown calls are not given back, but counted. No call gives back more than it cost: each call
 * is used once, and the aggregator accepts only the first settlement of a call. Thread-safe; blocks
 * no thread.
 *
 * <p>Invariant for all requested hits: requested = settled + unknown + not-recorded; the refused
 * hits are part of the settled ones.
 */
final class NegativeHits {
  private final RecentCalls calls = new RecentCalls();
  private final Settler settler;
  private final Counter settled;
  private final Counter unknown;
  private final Counter notRecorded;
  private final Counter refused;

  NegativeHits(Settler settler, MeterRegistry registry) {
    this.settler = settler;
    this.settled = counter(registry, "settled");
    this.unknown = counter(registry, "unknown");
    this.notRecorded = counter(registry, "not-recorded");
    this.refused = counter(registry, "refused");
    Gauge.builder("weir.negative.hits.calls", calls, known -> known.size(System.nanoTime()))
        .description("calls whose hits this node could give back")
        .register(registry);
  }

  private static Counter counter(MeterRegistry registry, String outcome) {
    return Counter.builder("weir.negative.hits")
        .description("hits that requests gave back, by the result")
        .tag("outcome", outcome)
        .register(registry);
  }

  /** Stores a call whose hits may be given back later; ignores any other outcome. */
  void remember(CheckOutcome outcome) {
    if (outcome instanceof CheckOutcome.Decided decided
        && decided.call().allowed()
        && decided.recorded() instanceof Recorded.Durable durable) {
      calls.add(decided.call(), durable.position(), System.nanoTime());
    }
  }

  /**
   * Gives back hits of a descriptor as far as their calls are known, and returns without waiting.
   *
   * @param hits at least 1
   * @return completes with the reason why the settlements could not be recorded; those calls are
   *     not tried again. Completes with empty if they were recorded, or no call is known. The
   *     completing thread must not be blocked
   */
  CompletableFuture<Optional<Recorded.Refused>> giveBack(CallFacts facts, long hits) {
    RecentCalls.Found found = calls.take(RecentCalls.Owner.of(facts), hits, System.nanoTime());
    unknown.increment((double) (hits - found.hits()));
    if (found.calls().isEmpty()) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    return settler
        .submit(found.calls(), this::countRefused)
        .thenApply(results -> count(results, found.hits()));
  }

  private Optional<Recorded.Refused> count(List<Recorded> results, long hits) {
    for (Recorded result : results) {
      if (!(result instanceof Recorded.Durable)) {
        notRecorded.increment((double) hits);
        return result instanceof Recorded.Refused why ? Optional.of(why) : Optional.empty();
      }
    }
    settled.increment((double) hits);
    return Optional.empty();
  }

  private void countRefused(Settler.KnownCall call, SettlementVerdict verdict) {
    if (verdict.outcome() != Outcome.STANDS) {
      refused.increment((double) (call.call().cost() - call.actualCost()));
    }
  }
}
