// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.concurrent.CompletableFuture;

/**
 * The store of buckets that decides calls. Thread-safe. A failure of the store is a value ({@link
 * Decision.Undecided}), never an exception.
 *
 * <p>A decision that is submitted is completed, always and normally, within the caller's patience,
 * a setting of the cache; the check may be charged whether or not it was by then. The thread that
 * completes it is the cache's, shared by all checks, so what depends on it must not block. A
 * dependent must not complete or cancel it.
 */
public interface DecisionCache extends AutoCloseable {
  /** Takes the cost from every bucket of the check, or from none, and waits for the decision. */
  default Decision take(Check check) {
    return submit(check).join();
  }

  /**
   * Submits a check that takes the cost from every bucket or from none, and returns without waiting
   * for the decision. If a thread submits several checks before it waits for the first one, they
   * are decided together.
   */
  CompletableFuture<Decision> submit(Check check);

  /** Decides as {@link #take} would, but charges nothing and writes nothing. */
  default Decision peek(Check check) {
    return submitPeek(check).join();
  }

  /** Submits a {@link #peek}, and returns without waiting for the decision. */
  CompletableFuture<Decision> submitPeek(Check check);

  /**
   * Submits the release of the slots that a holder has, and returns without waiting for it. It is
   * allowed whether the holder has any or not; the reply of a bucket is charged if the holder had a
   * slot there. If the cache is undecided, slots may or may not be released; a release may be
   * repeated.
   *
   * @param check buckets with slots, and the claim of the holder
   */
  CompletableFuture<Decision> submitRelease(Check check);

  /** Returns whether the cache currently answers. Cheap, repeatable and thread-safe. */
  Health check();

  @Override
  void close();

  /**
   * A cache's health.
   *
   * @param ok whether the cache answers
   * @param detail the error, or a description of the server that answered
   */
  record Health(boolean ok, String detail) {}
}
