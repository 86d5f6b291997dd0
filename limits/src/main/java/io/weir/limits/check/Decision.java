// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import java.util.List;

/** The result of a check. */
public sealed interface Decision {

  /** A decision that the cache made after it evaluated every bucket of the check. */
  sealed interface Decided extends Decision permits Allowed, Denied {
    /** Returns when the cache decided, in microseconds since 1970 by the cache's clock. */
    long decidedAtEpochMicros();

    /** Returns one reply per bucket, in the order of the check. */
    List<BucketReply> buckets();
  }

  /**
   * The call is allowed: every enforced bucket had enough tokens. The cache took the cost from
   * every enforced bucket, except for a peek.
   */
  record Allowed(long decidedAtEpochMicros, List<BucketReply> buckets) implements Decided {
    public Allowed {
      buckets = List.copyOf(buckets);
    }
  }

  /**
   * The call is denied: an enforced bucket did not have enough tokens. The cache took nothing.
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
   * The node denies the call because the node already knows that enforced buckets do not have
   * enough tokens. Usually the node sent no request to the cache. If {@code isPartial} is true, the
   * node sent requests, and only some of the servers have replied.
   *
   * @param shortages the buckets that do not have enough tokens, at least one, in the order of the
   *     check
   * @param isPartial whether a server did not reply; Weir then does not know whether this server
   *     took tokens
   */
  record StillDenied(List<Shortage> shortages, boolean isPartial) implements Decision {
    public StillDenied {
      shortages = List.copyOf(shortages);
    }

    /** Creates the denial of a check for which the node sent no request to the cache. */
    public StillDenied(List<Shortage> shortages) {
      this(shortages, false);
    }

    /**
     * A bucket with too few tokens for the cost.
     *
     * @param bucket index of the bucket in the check
     * @param reply the current content of the bucket, without charges that the node does not know;
     *     the reply contains no epoch
     */
    public record Shortage(int bucket, BucketReply reply) {}
  }

  /**
   * The cache did not reply before the deadline, or did not decide. The cache may have charged the
   * call.
   *
   * @param cause the reason
   * @param detail one sentence for the log; contains no data of a client
   */
  record Undecided(Cause cause, String detail) implements Decision {}

  /** Reason for which a check is undecided. */
  enum Cause {
    /** The server did not reply within the deadline, although this process was ready to read. */
    TIMEOUT,
    /** The node has no connection, or the server is loading data, read-only or out of memory. */
    UNAVAILABLE,
    /**
     * This process is overloaded. Too many checks are waiting, or the process did not send the
     * check or read the reply before the deadline. The server itself may work normally. The call
     * must be rejected because of overload.
     */
    REJECTED,
    /** The reply of the server is not valid. */
    CORRUPT,
    /**
     * The cache has lost its state, and a bucket of the check must not decide until the cache is
     * restored.
     */
    COLD
  }
}
