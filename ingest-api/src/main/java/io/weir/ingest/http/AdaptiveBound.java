// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.netflix.concurrency.limits.Limit;
import com.netflix.concurrency.limits.limit.Gradient2Limit;
import com.netflix.concurrency.limits.limit.WindowedLimit;

/**
 * A limit on concurrent calls that adapts to their latency. It falls while calls take longer than
 * over the last minutes, because they then wait for each other. It rises otherwise. Thread-safe.
 *
 * @see <a href="https://github.com/Netflix/concurrency-limits">concurrency-limits</a>; this is its
 *     Gradient2 algorithm
 */
final class AdaptiveBound {
  /** Bound before any measurement; also the minimum. */
  static final int INITIAL = 200;

  static final int LEAST = 50;

  private final Limit limit;

  /**
   * Creates a bound.
   *
   * @param most maximum of the bound; at least 1
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

  /** Returns the current bound. */
  int calls() {
    return limit.getLimit();
  }

  /**
   * Records how long a call took.
   *
   * @param beganNanos time of admission, by {@link System#nanoTime}
   * @param nanos duration of the call; at least 1
   * @param underWay number of calls in progress, including this one
   */
  void took(long beganNanos, long nanos, int underWay) {
    limit.onSample(beganNanos, nanos, underWay, false);
  }
}
