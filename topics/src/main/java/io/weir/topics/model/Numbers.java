// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/** The ranges of the numbers in records. Stateless and safe for threads. */
final class Numbers {
  /**
   * Greatest number in a record: up to here JSON numbers and those of Lua are exact, and sums of a
   * few cannot overflow an int64.
   */
  static final long MAX = CallEvent.MAX_QUANTITY;

  /** Greatest time in epoch milliseconds, in the year 2255: in microseconds it is still exact. */
  static final long MAX_EPOCH_MILLIS = MAX / 1_000;

  private Numbers() {}

  /**
   * Requires a number of a record to be from a least one to {@link #MAX}.
   *
   * @throws IllegalArgumentException when it is not; the message names the member
   */
  static void require(String member, long value, long least) {
    require(member, value, least, MAX);
  }

  /**
   * Requires a number of a record to be in a range.
   *
   * @throws IllegalArgumentException when it is not; the message names the member
   */
  static void require(String member, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          member + " must be " + least + " to " + most + ", is " + value);
    }
  }
}
