// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/** The range of the numbers that records and buckets hold. Stateless and safe for threads. */
public final class Numbers {
  /**
   * Greatest number in a record: up to here JSON numbers and those of Lua are exact, and sums of a
   * few cannot overflow an int64.
   */
  public static final long MAX = (1L << 53) - 1;

  /** Greatest time in epoch milliseconds, in the year 2255: in microseconds it is still exact. */
  public static final long MAX_EPOCH_MILLIS = MAX / 1_000;

  private Numbers() {}

  /** The product of two numbers ≥ 0, or 2^53 when it is larger. */
  public static long boundedProduct(long one, long other) {
    return one != 0 && other > (MAX + 1) / one ? MAX + 1 : one * other;
  }

  /**
   * Requires a number of a record to be from a least one to {@link #MAX}.
   *
   * @throws IllegalArgumentException when it is not; the message names the member
   */
  public static void require(String member, long value, long least) {
    require(member, value, least, MAX);
  }

  /**
   * Requires a number of a record to be in a range.
   *
   * @throws IllegalArgumentException when it is not; the message names the member
   */
  public static void require(String member, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          member + " must be " + least + " to " + most + ", is " + value);
    }
  }
}
