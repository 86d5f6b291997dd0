// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** The outcome of one try of a request. */
sealed interface TryOutcome<T> {
  /** A node has responded. */
  record Answered<T>(T value) implements TryOutcome<T> {}

  /** A node has refused the request. Nodes would also refuse another try. */
  record Wrong<T>(WeirRequestException exception) implements TryOutcome<T> {}

  /**
   * The try has failed. Another try may succeed.
   *
   * @param detail a sentence that describes the failure
   */
  record Failed<T>(Decision.Cause cause, String detail) implements TryOutcome<T> {}
}
