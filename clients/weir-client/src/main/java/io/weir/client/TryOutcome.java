// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** The outcome of one try of a request. */
sealed interface TryOutcome<T> {
  /** A node has responded. */
  record Answered<T>(T value) implements TryOutcome<T> {}

  /** A node has refused the request, and would refuse it again. */
  record Wrong<T>(WeirRequestException exception) implements TryOutcome<T> {}

  /**
   * There is no response; another try may have one.
   *
   * @param cause the cause
   * @param detail a sentence about the failure
   */
  record Failed<T>(Decision.Cause cause, String detail) implements TryOutcome<T> {}
}
