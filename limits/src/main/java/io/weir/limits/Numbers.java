// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/** The range of the numbers in records and buckets. Stateless and thread-safe. */
public final class Numbers {
  /**
   * The greatest number in a record. Up to this value the numbers of JSON and Lua are exact, and a
   * sum of a few values cannot overflow an int64.
   */
  public static final long MAX = (1L << 53) - 1;

  /**
   * The greatest time in epoch milliseconds, in the year 2255; it is still exact in microseconds.
   */
  public static final long MAX_EPOCH_MILLIS = MAX / 1_000;

  private Numbers() {}

  /** Returns the product of two numbers ≥ 0, or 2^53 if the product is larger. */
  public static long boundedProduct(long one, long other) {
    return one != 0 && other > (MAX + 1) / one ? MAX + 1 : one * other;
  }

  /**
   * Requires a number of a record to be in {@code [least, MAX]}.
   *
   * @throws IllegalArgumentException if it is not; the message names the member
   */
  public static void require(String member, long value, long least) {
    require(member, value, least, MAX);
  }

  /**
   * Requires a number of a record to be in {@code [least, most]}.
   *
   * @throws IllegalArgumentException if it is not; the message names the member
   */
  public static void require(String member, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          member + " must be " + least + " to " + most + ", is " + value);
    }
  }
}
