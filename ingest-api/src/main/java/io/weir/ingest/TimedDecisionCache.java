// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.weir.decision.DecisionCache;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;

/** A decision cache whose answers are timed. Thread-safe. */
final class TimedDecisionCache implements DecisionCache {
  private final DecisionCache cache;
  private final Latencies latencies;

  TimedDecisionCache(DecisionCache cache, Latencies latencies) {
    this.cache = cache;
    this.latencies = latencies;
  }

  @Override
  public PendingDecision submit(Check check) {
    long begunNanos = System.nanoTime();
    PendingDecision pending = cache.submit(check);
    return () -> {
      Decision decision = pending.await();
      latencies.decided(System.nanoTime() - begunNanos);
      return decision;
    };
  }

  @Override
  public Decision peek(Check check) {
    long begunNanos = System.nanoTime();
    Decision decision = cache.peek(check);
    latencies.decided(System.nanoTime() - begunNanos);
    return decision;
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
