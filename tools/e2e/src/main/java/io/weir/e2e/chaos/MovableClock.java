// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.time.Duration;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/**
 * The system's clock, which a test can set ahead while a broker uses it. Only {@link
 * #milliseconds}, the time of day, changes. Durations measured with {@link #nanoseconds} stay
 * correct. Thread-safe.
 */
final class MovableClock implements Time {
  private volatile long aheadMillis;

  /** Sets this clock ahead of the system's clock. Zero makes this clock correct again. */
  void setAhead(Duration ahead) {
    aheadMillis = ahead.toMillis();
  }

  @Override
  public long milliseconds() {
    return SYSTEM.milliseconds() + aheadMillis;
  }

  @Override
  public long nanoseconds() {
    return SYSTEM.nanoseconds();
  }

  @Override
  public void sleep(long millis) {
    SYSTEM.sleep(millis);
  }

  /**
   * Waits on an object until a condition holds or a deadline has passed.
   *
   * @param deadlineMillis the deadline, by this clock
   */
  @Override
  public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMillis)
      throws InterruptedException {
    SYSTEM.waitObject(object, condition, deadlineMillis - aheadMillis);
  }
}
