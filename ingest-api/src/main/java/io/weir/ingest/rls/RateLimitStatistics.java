// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** Counts the requests of the gRPC port by their outcome, after {@link #begin}. Thread-safe. */
final class RateLimitStatistics {
  private final Map<Outcome, Counter> counters = new EnumMap<>(Outcome.class);
  private volatile boolean hasBegun;

  /** The outcome of a request. */
  enum Outcome {
    /** All of its descriptors are within their limits. */
    OK,
    /** At least one descriptor is over its limit. */
    OVER_LIMIT,
    /** The request cannot be decided, whatever the policies are. */
    INVALID,
    /** Too many requests were in progress. */
    OVERLOADED,
    /** One of its calls was shed, or could not be recorded. */
    UNAVAILABLE
  }

  RateLimitStatistics(MeterRegistry registry) {
    for (Outcome outcome : Outcome.values()) {
      counters.put(
          outcome,
          Counter.builder("weir.grpc.requests")
              .description("requests of Envoy's rate limit service over gRPC")
              .tag("outcome", outcome.name().toLowerCase(Locale.ROOT).replace('_', '-'))
              .register(registry));
    }
  }

  /** Begins to count. */
  void begin() {
    hasBegun = true;
  }

  void count(Outcome outcome) {
    Counter counter = counters.get(outcome);
    if (hasBegun && counter != null) {
      counter.increment();
    }
  }

  /** Counts a request that was decided. */
  void count(Code code) {
    count(code == Code.OK ? Outcome.OK : Outcome.OVER_LIMIT);
  }
}
