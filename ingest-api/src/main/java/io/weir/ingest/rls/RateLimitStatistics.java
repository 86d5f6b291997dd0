// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** Counts the gRPC requests by their outcome, after {@link #begin}. Thread-safe. */
final class RateLimitStatistics {
  private final Map<Outcome, Counter> counters = new EnumMap<>(Outcome.class);
  private volatile boolean hasBegun;

  /** The outcome of a request. */
  enum Outcome {
    /** All descriptors of the request are within their limits. */
    OK,
    /** At least one descriptor of the request is over its limit. */
    OVER_LIMIT,
    /** The request is invalid. */
    INVALID,
    /** The node was at its maximum number of concurrent requests. */
    OVERLOADED,
    /** A call of the request was shed, or could not be recorded. */
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

  /** Begins to count requests. */
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
