// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import java.time.Clock;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Generates UUIDs of version 7 (RFC 9562 §5.7). Each UUID consists of 48 bits of epoch
 * milliseconds, 74 random bits, and the version and variant. UUIDs of the same millisecond are not
 * ordered. Thread-safe.
 */
final class UuidV7 {
  private final Clock clock;

  UuidV7(Clock clock) {
    this.clock = clock;
  }

  String next() {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    long high = (clock.millis() << 16) | 0x7000L | (random.nextLong() & 0x0fffL);
    long low = (random.nextLong() & 0x3fffffffffffffffL) | 0x8000000000000000L;
    return new UUID(high, low).toString();
  }
}
