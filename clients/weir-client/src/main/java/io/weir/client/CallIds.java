// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Clock;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Creates ids of calls: UUIDs of version 7 (RFC 9562 §5.7) with 48 bits of epoch milliseconds and
 * 74 random bits. When a call is settled, Weir uses the time in the id to find the call.
 * Thread-safe.
 */
final class CallIds {
  private final Clock clock;

  CallIds(Clock clock) {
    this.clock = clock;
  }

  String next() {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    long high = (clock.millis() << 16) | 0x7000L | (random.nextLong() & 0x0fffL);
    long low = (random.nextLong() & 0x3fffffffffffffffL) | 0x8000000000000000L;
    return new UUID(high, low).toString();
  }
}
