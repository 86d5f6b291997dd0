// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.weir.decision.DecisionCache;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A decision cache that measures the duration of its replies. Thread-safe. */
final class TimedDecisionCache implements DecisionCache {
  private final DecisionCache cache;
  private final Timer decisions;

  TimedDecisionCache(DecisionCache cache, MeterRegistry registry) {
    this.cache = cache;
    this.decisions =
        Timer.builder("weir.decision")
            .description("seconds from a request to the cache to its reply or timeout")
            .register(registry);
  }

  @Override
  public CompletableFuture<Decision> submit(Check check) {
    long begunNanos = System.nanoTime();
    return timed(begunNanos, cache.submit(check));
  }

  @Override
  public CompletableFuture<Decision> submitPeek(Check check) {
    long begunNanos = System.nanoTime();
    return timed(begunNanos, cache.submitPeek(check));
  }

  @Override
  public CompletableFuture<Decision> submitRelease(Check check) {
    long begunNanos = System.nanoTime();
    return timed(begunNanos, cache.submitRelease(check));
  }

  private CompletableFuture<Decision> timed(long begunNanos, CompletableFuture<Decision> decision) {
    return decision.whenComplete(
        (decided, failed) ->
            decisions.record(System.nanoTime() - begunNanos, TimeUnit.NANOSECONDS));
  }

  @Override
  public Health check() {
    return cache.check();
  }

  @Override
  public void close() {
    cache.close();
  }
}
