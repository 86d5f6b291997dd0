// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.state;

/**
 * A limit on the duration of work that can be interrupted and resumed. The work checks the limit
 * before each step.
 */
@FunctionalInterface
public interface Budget {
  /**
   * Returns whether the budget is used up. If the result is true, the work must stop before its
   * next step.
   */
  boolean isSpent();
}
