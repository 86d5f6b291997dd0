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
 * Gives hits back by settling the newest calls of the same descriptor that this node has recorded.
 * What it does not know is not given back, and counted. No call gives more back than it cost: each
 * is handed out once, and the aggregator lets the first settlement of a call stand. Thread-safe;
 * blocks no thread.
 *
 * <p>Of all hits that are to be given back: asked = settled + unknown + not-recorded; the refused
 * ones are among the settled.
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
        .description("hits that were to be given back")
        .tag("outcome", outcome)
        .register(registry);
  }

  /** Remembers a call whose hits may be given back later; passes over any other outcome. */
  void remember(CheckOutcome outcome) {
    if (outcome instanceof CheckOutcome.Decided decided
        && decided.call().allowed()
        && decided.recorded() instanceof Recorded.Durable durable) {
      calls.add(decided.call(), durable.position(), System.nanoTime());
    }
  }

  /**
   * Gives hits of a descriptor back, as far as they are known, and returns without waiting.
   *
   * @param hits at least 1
   * @return completed, by a thread that must not be blocked, with why the settlements could not be
   *     recorded, in which case those calls are not tried again; empty if they are recorded, or no
   *     call is known
   */
  CompletableFuture<Optional<Recorded.Refused>> giveBack(CallFacts facts, long hits) {
    RecentCalls.Found found = calls.take(RecentCalls.Owner.of(facts), hits, System.nanoTime());
    unknown.increment((double) (hits - found.hits()));
    if (found.calls().isEmpty()) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    return settler
        .submit(found.calls(), this::told)
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

  private void told(Settler.KnownCall call, SettlementVerdict verdict) {
    if (verdict.outcome() != Outcome.STANDS) {
      refused.increment((double) (call.call().cost() - call.actualCost()));
    }
  }
}
