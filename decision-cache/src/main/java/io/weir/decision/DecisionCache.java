// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;

/**
 * Where buckets live and calls are decided. Safe for threads. A failure of the cache is a value
 * ({@link Decision.Undecided}), never an exception.
 */
public interface DecisionCache extends AutoCloseable {
  /**
   * Takes the cost from every bucket of the check, or from none. Blocks at most for the caller's
   * patience, a setting of the cache.
   */
  Decision take(Check check);

  /** Like {@link #take}, but nothing is charged and nothing is written. */
  Decision peek(Check check);

  /** Whether the cache answers now. Cheap, repeatable, safe for threads. */
  Health check();

  @Override
  void close();

  /**
   * A cache's health.
   *
   * @param ok whether it answers
   * @param detail the error, or which server answered
   */
  record Health(boolean ok, String detail) {}
}
