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
   * Every enforced bucket held the cost, and the cache took it from all of them (a peek takes
   * nothing).
   */
  record Allowed(long decidedAtEpochMicros, List<BucketReply> buckets) implements Decided {
    public Allowed {
      buckets = List.copyOf(buckets);
    }
  }

  /**
   * An enforced bucket did not hold the cost; the cache took and wrote nothing.
   *
   * @param decidingBucket index of the enforced bucket with the longest waiting time, or of the
   *     first bucket with a capacity below the cost
   * @param costExceedsCapacity true if a retry cannot succeed because the cost is above the
   *     capacity
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
   * A denial by enforced buckets that are already known not to hold the cost. Usually no request
   * was sent to the cache, and nothing was taken or written. With {@code isPartial}, requests were
   * sent, and only some of the servers have replied.
   *
   * @param shortages the buckets that do not hold the cost, at least one, in the order of the check
   * @param isPartial whether a server has not replied to its request; the tokens taken there are
   *     then unknown
   */
  record StillDenied(List<Shortage> shortages, boolean isPartial) implements Decision {
    public StillDenied {
      shortages = List.copyOf(shortages);
    }

    /** Creates the denial of a check for which no request was sent to the cache. */
    public StillDenied(List<Shortage> shortages) {
      this(shortages, false);
    }

    /**
     * A bucket that does not hold the cost.
     *
     * @param bucket index of the bucket in the check
     * @param reply the current content of the bucket, without charges since the shortage was
     *     recorded; it contains no epoch
     */
    public record Shortage(int bucket, BucketReply reply) {}
  }

  /**
   * The cache did not reply, or not in time. It is unknown whether the cache charged the call.
   *
   * @param cause the reason
   * @param detail one sentence for the log; contains no data of a client
   */
  record Undecided(Cause cause, String detail) implements Decision {}

  /** Why a check is undecided. */
  enum Cause {
    /** The server did not reply within the deadline, although this process was ready to read. */
    TIMEOUT,
    /** There is no connection, or the server is loading, read-only or out of memory. */
    UNAVAILABLE,
    /**
     * This process is overloaded: too many checks are waiting, or it did not send the check or read
     * the reply in time. The cause says nothing about the server. The call must be rejected because
     * of overload.
     */
    REJECTED,
    /** The server's reply could not be parsed. */
    CORRUPT,
    /** The cache has lost its state, and a bucket of the check waits for its restoration. */
    COLD
  }
}
