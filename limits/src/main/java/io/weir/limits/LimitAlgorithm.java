// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/** The rate limit algorithms, with their names in policy files, records and reports. */
public enum LimitAlgorithm {
  /** A bucket that refills evenly. */
  TOKEN_BUCKET("token-bucket") {
    @Override
    public BucketLimit read(MemberSource members) {
      return new TokenBucketLimit(
          members.member("capacity"),
          members.member("refill_tokens"),
          members.member("refill_period_us"));
    }
  },
  /** A bucket for each calendar period. */
  QUOTA("quota") {
    @Override
    public BucketLimit read(MemberSource members) {
      return new QuotaLimit(members.member("capacity"), members.member("ends_at_us"));
    }
  },
  /** A bucket for each window of a fixed length. */
  FIXED_WINDOW("fixed-window") {
    @Override
    public BucketLimit read(MemberSource members) {
      return new FixedWindowLimit(
          members.member("capacity"), members.member("ends_at_us"), members.member("window_us"));
    }
  },
  /**
   * A bucket for each sub-window, and a limit on the sum of the sub-windows that a window covers.
   */
  SLIDING_WINDOW("sliding-window") {
    @Override
    public BucketLimit read(MemberSource members) {
      return new SlidingWindowLimit(
          members.member("capacity"),
          members.member("ends_at_us"),
          members.member("window_us"),
          members.member("sub_windows"));
    }
  },
  /** A log of the calls in the last window. Buckets are not recorded. */
  SLIDING_LOG("sliding-log") {
    @Override
    public BucketLimit read(MemberSource members) {
      throw new IllegalArgumentException(
          "a record must not contain a sliding-log bucket: only the cache stores it");
    }
  },
  /**
   * A number of slots; each running call holds one slot for the time of a lease. Buckets are not
   * recorded.
   */
  CONCURRENCY("concurrency") {
    @Override
    public BucketLimit read(MemberSource members) {
      return new ConcurrencyLimit(members.member("capacity"), members.member("lease_us"));
    }
  };

  private final String wireName;

  LimitAlgorithm(String wireName) {
    this.wireName = wireName;
  }

  /** Source of a limit's members, from which {@link LimitAlgorithm#read} reads the limit. */
  public interface MemberSource {
    /** Returns the value of a member; 0 if the member is absent. */
    long member(String name);
  }

  /**
   * Sink for a limit's members, to which {@link BucketLimit#writeTo} writes the limit.
   *
   * @param <E> the exception that the sink may throw
   */
  public interface MemberSink<E extends Exception> {
    /** Accepts the next member. */
    void member(String name, long value) throws E;
  }

  /** Returns the lower-case name. */
  public String wireName() {
    return wireName;
  }

  /**
   * Returns the algorithm with the given name.
   *
   * @throws IllegalArgumentException if there is no such algorithm
   */
  public static LimitAlgorithm ofWireName(String wireName) {
    for (LimitAlgorithm algorithm : values()) {
      if (algorithm.wireName.equals(wireName)) {
        return algorithm;
      }
    }
    throw new IllegalArgumentException("unknown algorithm: '" + wireName + "'");
  }

  /**
   * Reads a limit from the members that {@link BucketLimit#writeTo} wrote, in the same order.
   *
   * @throws IllegalArgumentException if a member is out of range
   */
  public abstract BucketLimit read(MemberSource members);
}
