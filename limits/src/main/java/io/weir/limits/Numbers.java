// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/** Range checks for the numbers in records and buckets. Stateless and thread-safe. */
public final class Numbers {
  /**
   * Maximum value of a number in a record: 2^53 − 1. JSON and Lua represent all integers up to this
   * value exactly. A sum of a few such values cannot overflow an int64.
   */
  public static final long MAX = (1L << 53) - 1;

  /**
   * Maximum time in epoch milliseconds, in the year 2255; in microseconds, at most {@link #MAX}.
   */
  public static final long MAX_EPOCH_MILLIS = MAX / 1_000;

  private Numbers() {}

  /** Returns the product of two numbers ≥ 0, or 2^53 if the product is larger. */
  public static long boundedProduct(long one, long other) {
    return one != 0 && other > (MAX + 1) / one ? MAX + 1 : one * other;
  }

  /**
   * Requires that a number of a record is in {@code [least, MAX]}.
   *
   * @throws IllegalArgumentException if the number is out of range; the message names the member
   */
  public static void require(String member, long value, long least) {
    require(member, value, least, MAX);
  }

  /**
   * Requires that a number of a record is in {@code [least, most]}.
   *
   * @throws IllegalArgumentException if the number is out of range; the message names the member
   */
  public static void require(String member, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          member + " must be between " + least + " and " + most + ", but is " + value);
    }
  }
}
