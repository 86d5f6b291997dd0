// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.state;

/** A limit on the duration of resumable work. The worker checks it before each step. */
@FunctionalInterface
public interface Budget {
  /** Returns whether the budget is used up; the next step must then wait for another call. */
  boolean isSpent();
}
