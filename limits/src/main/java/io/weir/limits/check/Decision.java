// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import java.util.List;

/** The answer to a check. */
public sealed interface Decision {

  /** A decision for which the cache evaluated every bucket of the check. */
  sealed interface Decided extends Decision permits Allowed, Denied {
    /** Returns when the cache decided, in microseconds since 1970 by its clock. */
    long decidedAtEpochMicros();

    /** Returns one reply per bucket, in the order of the check. */
    List<BucketReply> buckets();
  }

  /**
   * Every enforced bucket held the cost, which was taken from all of them (a peek takes nothing).
   */
  record Allowed(long decidedAtEpochMicros, List<BucketReply> buckets) implements Decided {
    public Allowed {
      buckets = List.copyOf(buckets);
    }
  }

  /**
   * An enforced bucket did not hold the cost; nothing was taken and nothing was written.
   *
   * @param decidingBucket index of the enforced bucket with the longest waiting time, or of the
   *     first whose capacity is below the cost
   * @param costExceedsCapacity true if waiting cannot help because the cost is above the capacity
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
   * Enforced buckets are known not to hold the cost yet: the cache was not asked again, and nothing
   * was taken and nothing was written; or it was, and only some of its servers have answered.
   *
   * @param shortages the buckets of which that is known, at least one, in the order of the check
   * @param isPartial whether a server that was asked has not answered: then it is not known what
   *     was taken there
   */
  record StillDenied(List<Shortage> shortages, boolean isPartial) implements Decision {
    public StillDenied {
      shortages = List.copyOf(shortages);
    }

    /** Creates the denial of a check that the cache was not asked about. */
    public StillDenied(List<Shortage> shortages) {
      this(shortages, false);
    }

    /**
     * A bucket that does not hold the cost.
     *
     * @param bucket index of the bucket in the check
     * @param reply what the bucket holds now unless something was charged since; it says nothing of
     *     the bucket's epoch
     */
    public record Shortage(int bucket, BucketReply reply) {}
  }

  /**
   * The cache did not answer, or not in time. Whether it charged is unknown.
   *
   * @param cause the reason
   * @param detail one sentence for the log; never contains a client's data
   */
  record Undecided(Cause cause, String detail) implements Decision {}

  /** Why a check is undecided. */
  enum Cause {
    /** The server did not answer within the deadline, although this process was ready to read. */
    TIMEOUT,
    /** There is no connection, or the server is loading, read-only or out of memory. */
    UNAVAILABLE,
    /**
     * This process is overloaded: too many checks are waiting, or it did not send the check or read
     * the answer in time. Implies nothing about the server; the call is to be shed.
     */
    REJECTED,
    /** The server's reply could not be understood. */
    CORRUPT,
    /** The cache has lost its state, and a bucket of the check waits for its restoration. */
    COLD
  }
}
