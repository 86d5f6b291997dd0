// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.limits.BillingCalendar;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Records usage events without evaluating policies or charging buckets. The lines are counted and
 * billed like the lines of allowed calls. Thread-safe; blocks no thread.
 */
public final class UsageLog {
  /**
   * The version of the policies in a line without a decision. An audit expects that no policy
   * matches a line with this version.
   */
  private static final long NO_POLICIES = 0;

  private final Supplier<PolicyMatcher> policies;
  private final CallLog log;
  private final Counter recorded;
  private final Counter notKept;

  UsageLog(Supplier<PolicyMatcher> policies, CallLog log, MeterRegistry registry) {
    this.policies = policies;
    this.log = log;
    this.recorded = counter(registry, "recorded");
    this.notKept = counter(registry, "not-kept");
  }

  private static Counter counter(MeterRegistry registry, String outcome) {
    return Counter.builder("weir.usage.events")
        .description("events that report usage: recorded, or answered 503")
        .tag("outcome", outcome)
        .register(registry);
  }

  /** Returns the current time, by the clock that determines the time of calls. */
  public long nowEpochMillis() {
    Ticket ticket = log.begin();
    ticket.abandon();
    return ticket.begunAtEpochMillis();
  }

  /**
   * Records either all of the usage events or no event, and returns without waiting.
   *
   * @param usages 1 to {@value CallLog#MAX_CALLS}, each with a quantity of at least 1
   * @return completes with one result per event in the same order. Dependent actions must not
   *     block, because they run on the thread that writes for all callers
   */
  public CompletableFuture<List<Recorded>> submit(List<Usage> usages) {
    Ticket ticket = log.begin();
    List<CallEvent> lines = new ArrayList<>(usages.size());
    try {
      PolicyMatcher snapshot = policies.get();
      for (Usage usage : usages) {
        lines.add(line(usage, snapshot.billing(usage.client())));
      }
    } catch (RuntimeException | Error failed) {
      ticket.abandon();
      throw failed;
    }
    return log.submit(ticket, lines).thenApply(this::counted);
  }

  private List<Recorded> counted(List<Recorded> results) {
    for (Recorded result : results) {
      (result instanceof Recorded.Durable ? recorded : notKept).increment();
    }
    return results;
  }

  private static CallEvent line(Usage usage, @Nullable BillingCalendar billing) {
    CallEvent line =
        new CallEvent(
            usage.id(),
            true,
            usage.client(),
            usage.endpoint(),
            usage.meter(),
            usage.quantity(),
            true,
            DecidedBy.NONE,
            null,
            NO_POLICIES,
            usage.atEpochMillis(),
            null,
            List.of());
    return billing == null ? line : line.billedIn(billing.at(usage.atEpochMillis()));
  }
}
