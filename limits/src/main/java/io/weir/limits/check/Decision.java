// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import java.util.List;

/** The answer to a check. */
public sealed interface Decision {

  /** The cache looked at every bucket of the check. */
  sealed interface Decided extends Decision permits Allowed, Denied {
    /** When, in microseconds since 1970 by the cache's clock. */
    long decidedAtEpochMicros();

    /** One reply a bucket, in the order of the check. */
    List<BucketReply> buckets();
  }

  /** Every enforced bucket held the cost; it was taken from all of them (a peek takes nothing). */
  record Allowed(long decidedAtEpochMicros, List<BucketReply> buckets) implements Decided {
    public Allowed {
      buckets = List.copyOf(buckets);
    }
  }

  /**
   * An enforced bucket did not hold the cost; nothing was taken and nothing was written.
   *
   * @param decidingBucket index of the enforced bucket that has to be waited for longest, or of the
   *     first whose capacity is below the cost
   * @param costExceedsCapacity true when waiting cannot help because the cost is above the capacity
   */
  record Denied(
      long decidedAtEpochMicros,
      List<BucketReply> buckets,
      int decidingBucket,
      boolean costExceedsCapacity)
      implements Decided {
    public Denied {
      buckets = List.copyOf(buckets);
    }
  }

  /**
   * The cache did not answer in time or at all. Whether it charged is unknown.
   *
   * @param cause why
   * @param detail one sentence for the log; never holds a client's data
   */
  record Undecided(Cause cause, String detail) implements Decision {}

  /** Why a cache did not answer. */
  enum Cause {
    /** The server did not answer within the deadline, though this process was there to read. */
    TIMEOUT,
    /** No connection, or the server is loading, read-only or out of memory. */
    UNAVAILABLE,
    /**
     * This process is overloaded: too many checks wait already, or it did not come to ask in time,
     * or to read the answer. Says nothing about the server; the call is to be shed.
     */
    REJECTED,
    /** The server answered what is not an answer. */
    CORRUPT,
    /** The cache has lost its state, and a bucket of the check waits for the exact figure. */
    COLD
  }
}
