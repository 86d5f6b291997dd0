// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * The algorithms by which buckets are limited, with the names that they have in policy files,
 * records and reports.
 */
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
  };

  private final String wireName;

  LimitAlgorithm(String wireName) {
    this.wireName = wireName;
  }

  /** Gives the members of a limit that was written. */
  public interface MemberSource {
    /** The value of a member; 0 when it is absent. */
    long member(String name);
  }

  /**
   * Takes the members of a limit that is written.
   *
   * @param <E> what it throws
   */
  public interface MemberSink<E extends Exception> {
    /** Takes the next member. */
    void member(String name, long value) throws E;
  }

  /** The lower-case name. */
  public String wireName() {
    return wireName;
  }

  /**
   * The algorithm of a name.
   *
   * @throws IllegalArgumentException when there is none
   */
  public static LimitAlgorithm ofWireName(String wireName) {
    for (LimitAlgorithm algorithm : values()) {
      if (algorithm.wireName.equals(wireName)) {
        return algorithm;
      }
    }
    throw new IllegalArgumentException("algorithm is not known: '" + wireName + "'");
  }

  /**
   * The limit whose members were written by {@link BucketLimit#writeTo}; they are asked for in the
   * same order.
   *
   * @throws IllegalArgumentException when a member is out of range
   */
  public abstract BucketLimit read(MemberSource members);
}
