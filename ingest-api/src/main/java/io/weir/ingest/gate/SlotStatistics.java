// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.Decision;

/** Metrics of slots since the start. Thread-safe. */
final class SlotStatistics {
  /** Slots that calls acquired. */
  final Counter acquired;

  /** Slots that a release freed. */
  final Counter released;

  /** Renewals that extended the lease of their slots. */
  final Counter renewed;

  /** Renewals refused because the lease had ended. */
  final Counter refused;

  /** Abandoned releases: the value of the key is not a set of slots, and every retry would fail. */
  final Counter abandoned;

  SlotStatistics(MeterRegistry registry) {
    acquired = counter(registry, "acquired");
    released = counter(registry, "released");
    renewed = renewals(registry, "renewed");
    refused = renewals(registry, "refused");
    abandoned =
        Counter.builder("weir.slot.releases.abandoned")
            .description(
                "releases of slots that Weir abandoned: the key in Redis has a value that Weir"
                    + " did not write")
            .register(registry);
  }

  private static Counter counter(MeterRegistry registry, String change) {
    return Counter.builder("weir.slots")
        .description("slots that calls acquired, and slots that a release freed")
        .tag("change", change)
        .register(registry);
  }

  private static Counter renewals(MeterRegistry registry, String verdict) {
    return Counter.builder("weir.slot.renewals")
        .description("renewals of slots, accepted or refused because a lease had ended")
        .tag("verdict", verdict)
        .register(registry);
  }

  /** Counts the slots that a release freed, and returns whether the release freed any slot. */
  boolean countReleased(Decision decision) {
    if (!(decision instanceof Decision.Allowed allowed)) {
      return false;
    }
    int freed = 0;
    for (BucketReply reply : allowed.buckets()) {
      freed += reply.charged() ? 1 : 0;
    }
    released.increment(freed);
    return freed > 0;
  }
}
