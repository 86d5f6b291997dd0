// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;

/**
 * The store of buckets that decides calls. Safe for use by multiple threads. A failure of the store
 * is a value ({@link Decision.Undecided}), never an exception.
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
   * Asks for the cost to be taken from every bucket of the check, or from none, and returns without
   * waiting for the answer. A thread that submits several checks before it waits for the first has
   * them decided together.
   */
  PendingDecision submit(Check check);

  /** Decides as {@link #take} would, but charges nothing and writes nothing. */
  Decision peek(Check check);

  /** Returns whether the cache answers now. Cheap, repeatable, safe for use by many threads. */
  Health check();

  @Override
  void close();

  /**
   * A check that was submitted. It may be charged whether or not its decision is waited for.
   * Belongs to the thread that submitted it.
   */
  @FunctionalInterface
  interface PendingDecision {
    /**
     * Waits for the decision, for at most the caller's patience, which began when the check was
     * submitted. To be called once.
     */
    Decision await();
  }

  /**
   * A cache's health.
   *
   * @param ok whether it answers
   * @param detail the error, or which server answered
   */
  record Health(boolean ok, String detail) {}
}
