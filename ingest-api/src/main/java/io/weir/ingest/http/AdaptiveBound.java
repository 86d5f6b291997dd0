// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.netflix.concurrency.limits.Limit;
import com.netflix.concurrency.limits.limit.Gradient2Limit;
import com.netflix.concurrency.limits.limit.WindowedLimit;

/**
 * A bound on concurrent calls that adapts to their latency. While calls take longer than the
 * average of the last minutes, the bound falls; otherwise the bound rises. Slow calls show that
 * calls wait for each other. Thread-safe.
 *
 * @see <a href="https://github.com/Netflix/concurrency-limits">concurrency-limits</a>, the library
 *     with the Gradient2 algorithm that this class uses
 */
final class AdaptiveBound {
  /** The bound before any measurement. A maximum below this value is used instead. */
  static final int INITIAL = 200;

  /** Minimum of the bound. A maximum below this value is used instead. */
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
   * @param underWay number of calls in progress, including this call
   */
  void took(long beganNanos, long nanos, int underWay) {
    limit.onSample(beganNanos, nanos, underWay, false);
  }
}
