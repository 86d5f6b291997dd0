// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** What one try of a request has come to. */
sealed interface Outcome<T> {
  /** A node has answered. */
  record Answered<T>(T value) implements Outcome<T> {}

  /** A node has refused the request, and would refuse it again. */
  record Wrong<T>(WeirRequestException exception) implements Outcome<T> {}

  /**
   * There is no answer; another try may have one.
   *
   * @param cause why
   * @param detail why, in a sentence
   */
  record Failed<T>(Decision.Cause cause, String detail) implements Outcome<T> {}
}
