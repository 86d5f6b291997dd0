// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;

/**
 * The store of buckets that decides calls. Thread-safe. A failure of the store is a value ({@link
 * Decision.Undecided}), never an exception.
 */
public interface DecisionCache extends AutoCloseable {
  /**
   * Takes the cost from every bucket of the check, or from none. Blocks for at most the caller's
   * patience, a setting of the cache.
   */
  default Decision take(Check check) {
    return submit(check).await();
  }

  /**
   * Submits a check that takes the cost from every bucket or from none, and returns without waiting
   * for the decision. If a thread submits several checks before it waits for the first one, they
   * are decided together.
   */
  PendingDecision submit(Check check);

  /** Decides as {@link #take} would, but charges nothing and writes nothing. */
  Decision peek(Check check);

  /** Returns whether the cache currently answers. Cheap, repeatable and thread-safe. */
  Health check();

  @Override
  void close();

  /**
   * A submitted check. It may be charged whether or not anyone waits for its decision. Must be used
   * only by the thread that submitted it.
   */
  @FunctionalInterface
  interface PendingDecision {
    /**
     * Waits for the decision, for at most the caller's patience, which began when the check was
     * submitted. Must be called at most once.
     */
    Decision await();
  }

  /**
   * A cache's health.
   *
   * @param ok whether the cache answers
   * @param detail the error, or a description of the server that answered
   */
  record Health(boolean ok, String detail) {}
}
