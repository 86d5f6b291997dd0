// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

/**
 * What the records say of a bucket after one of them. Mutable, so that none is made per record.
 *
 * <p>A bucket that refills is known by the time at which it is full. Exactly, its <em>debt to the
 * future</em> is {@code fullAt} less {@code slack / unitsPerTick} ticks; records state the time
 * rounded up, so the slack, in units, is known between two bounds: 0 to {@code unitsPerTick} − 1,
 * or one tick more where a lease has rounded, and exactly after a charge of a full bucket. A bucket
 * of a period is known by the tokens used of it, between two bounds, since records do not state it.
 */
final class BucketState {
  /** More than any bucket can have used. */
  static final long MOST_USED = 1L << 54;

  boolean isKnown;
  long epoch;
  long charged;
  long version;
  int limit;

  long fullAtMicros;
  long leastSlack;
  long mostSlack;

  /** When it was charged last: at this time or later, and at {@link #latestMicros} or earlier. */
  long earliestMicros;

  long latestMicros;

  long leastUsed;
  long mostUsed;

  void become(BucketState other) {
    isKnown = other.isKnown;
    epoch = other.epoch;
    charged = other.charged;
    version = other.version;
    limit = other.limit;
    fullAtMicros = other.fullAtMicros;
    leastSlack = other.leastSlack;
    mostSlack = other.mostSlack;
    earliestMicros = other.earliestMicros;
    latestMicros = other.latestMicros;
    leastUsed = other.leastUsed;
    mostUsed = other.mostUsed;
  }
}
