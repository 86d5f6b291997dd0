// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import java.time.Duration;
import java.time.Instant;

/**
 * Functions that round times to window boundaries. The boundaries are multiples of the window
 * length since 1970. Stateless.
 */
final class Windows {
  private Windows() {}

  static Instant floor(Instant moment, Duration size) {
    long millis = moment.toEpochMilli();
    return Instant.ofEpochMilli(millis - Math.floorMod(millis, size.toMillis()));
  }

  static Instant ceil(Instant moment, Duration size) {
    return floor(moment.plus(size).minusNanos(1), size);
  }
}
