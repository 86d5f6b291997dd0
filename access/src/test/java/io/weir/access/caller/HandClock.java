// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** The system clock with an offset that a test increases. Thread-safe. */
final class HandClock extends Clock {
  private volatile Duration ahead = Duration.ZERO;

  void advance(Duration by) {
    ahead = ahead.plus(by);
  }

  @Override
  public Instant instant() {
    return Instant.now().plus(ahead);
  }

  @Override
  public ZoneId getZone() {
    return ZoneOffset.UTC;
  }

  @Override
  public Clock withZone(ZoneId zone) {
    throw new UnsupportedOperationException("this clock is of UTC");
  }
}
