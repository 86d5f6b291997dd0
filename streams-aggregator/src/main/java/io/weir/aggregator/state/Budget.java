// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.state;

/** A bound on a piece of work that can be resumed, consulted before each step of it. */
@FunctionalInterface
public interface Budget {
  /** Returns whether the next step has to wait for another call. */
  boolean isSpent();
}
