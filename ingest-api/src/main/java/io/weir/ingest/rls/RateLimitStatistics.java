// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;

/** Counts the requests of the gRPC port by their outcome. Thread-safe. */
final class RateLimitStatistics {
  /** Requests that were refused since too many were in progress. */
  final Counter overloaded;

  /** Requests that cannot be decided. */
  final Counter invalid;

  /** Requests of which a call was shed, or could not be recorded. */
  final Counter notTold;

  private final Counter ok;
  private final Counter overLimit;

  RateLimitStatistics(MeterRegistry registry) {
    ok = counter(registry, "ok");
    overLimit = counter(registry, "over-limit");
    overloaded = counter(registry, "overloaded");
    invalid = counter(registry, "invalid");
    notTold = counter(registry, "unavailable");
  }

  private static Counter counter(MeterRegistry registry, String outcome) {
    return Counter.builder("weir.grpc.requests")
        .description("requests of Envoy's rate limit service over gRPC")
        .tag("outcome", outcome)
        .register(registry);
  }

  /** Counts a request that was decided. */
  void count(Code code) {
    (code == Code.OK ? ok : overLimit).increment();
  }
}
