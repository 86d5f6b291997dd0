// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * The durations of faults. A wait here is part of the fault, not a wait for a condition.
 *
 * @param longest maximum duration, above 2 s; 15 s is long enough to expire the Kafka sessions of
 *     most clients
 */
record Lasting(Duration longest) {
  /** Upper bound of a short fault: long enough to expire timeouts of at most a second. */
  private static final long SHORT_MILLIS = 2_000;

  /**
   * Duration of a fault that outlasts the sessions and transactions of the aggregators, which
   * expire after 6 s here.
   */
  private static final long BEYOND_SESSIONS_MILLIS = 25_000;

  void aMoment(RandomGenerator random) throws InterruptedException {
    hold(random.nextLong(SHORT_MILLIS));
  }

  void aWhile(RandomGenerator random) throws InterruptedException {
    hold(random.nextLong(SHORT_MILLIS / 2, longest.toMillis()));
  }

  void toTheEnd() throws InterruptedException {
    hold(longest.toMillis());
  }

  void beyondSessions() throws InterruptedException {
    hold(BEYOND_SESSIONS_MILLIS);
  }

  private static void hold(long millis) throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(millis);
  }
}
