// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

/**
 * The state of a bucket after one of its records, as far as records show it. Mutable, so that it is
 * reused for all records.
 *
 * <p>The state of a bucket that refills is the time at which it is full. The exact time is {@code
 * fullAt} minus {@code slack / unitsPerTick} ticks. Records round the time up, so the slack has two
 * bounds, in units: 0 to {@code unitsPerTick} − 1, or one tick more after a lease's rounding. After
 * a charge of a full bucket the slack is exact. The state of a bucket of a period is its number of
 * used tokens. Records do not have this number, so the state has two bounds of it.
 */
final class ReplayedBucket {
  /** An upper bound of the tokens that a bucket can have used. */
  static final long MOST_USED = 1L << 54;

  boolean isKnown;
  long epoch;
  long charged;
  long version;
  int limit;

  long fullAtMicros;
  long leastSlack;
  long mostSlack;

  /** Earliest time of the last charge; {@link #latestMicros} is the latest time. */
  long earliestMicros;

  long latestMicros;

  long leastUsed;
  long mostUsed;

  void become(ReplayedBucket other) {
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
