// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.netflix.concurrency.limits.Limit;
import com.netflix.concurrency.limits.limit.Gradient2Limit;
import com.netflix.concurrency.limits.limit.WindowedLimit;

/**
 * A bound on calls in progress that follows how long they take: it falls while calls take longer
 * than they did over the last minutes, since then they wait for each other, and rises while they do
 * not. Thread-safe.
 *
 * @see <a href="https://github.com/Netflix/concurrency-limits">concurrency-limits</a>, whose
 *     Gradient2 this is
 */
final class AdaptiveBound {
  /** Bound at the start, before anything is measured, and the least one. */
  static final int INITIAL = 200;

  static final int LEAST = 50;

  private final Limit limit;

  /**
   * Creates a bound.
   *
   * @param most the greatest that it may become; at least 1
   */
  AdaptiveBound(int most) {
    this.limit =
        WindowedLimit.newBuilder()
            .build(
                Gradient2Limit.newBuilder()
                    .initialLimit(Math.min(INITIAL, most))
                    .minLimit(Math.min(LEAST, most))
                    .maxConcurrency(most)
                    .build());
  }

  /** Returns the bound at present. */
  int calls() {
    return limit.getLimit();
  }

  /**
   * Records how long a call took.
   *
   * @param beganNanos when it was admitted, by {@link System#nanoTime}
   * @param nanos how long it took; at least 1
   * @param underWay how many calls were in progress, with it
   */
  void took(long beganNanos, long nanos, int underWay) {
    limit.onSample(beganNanos, nanos, underWay, false);
  }
}
