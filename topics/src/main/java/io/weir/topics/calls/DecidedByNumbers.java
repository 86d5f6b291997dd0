// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import io.weir.topics.model.DecidedBy;
import java.util.List;

/** The numbers of {@code DecidedBy} in {@code weir-calls.proto}. Stateless and thread-safe. */
final class DecidedByNumbers {
  private static final List<DecidedBy> BY_NUMBER =
      List.of(
          DecidedBy.CACHE,
          DecidedBy.DENY_CACHE,
          DecidedBy.LEASE,
          DecidedBy.LOCAL,
          DecidedBy.FAIL_OPEN,
          DecidedBy.FAIL_CLOSED,
          DecidedBy.NONE);

  private DecidedByNumbers() {}

  static int of(DecidedBy decidedBy) {
    return BY_NUMBER.indexOf(decidedBy) + 1;
  }

  /**
   * Returns the value that has a number.
   *
   * @throws IllegalArgumentException if there is no such value
   */
  static DecidedBy ofNumber(long number) {
    if (number < 1 || number > BY_NUMBER.size()) {
      throw new IllegalArgumentException("unknown decided_by: " + number);
    }
    return BY_NUMBER.get((int) number - 1);
  }
}
