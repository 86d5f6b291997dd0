// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/** Bounds a piece of work that can be resumed: asked before each step. */
@FunctionalInterface
public interface Budget {
  /** Whether the next step must wait for another time. */
  boolean isSpent();
}
