// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.concurrent.CompletableFuture;

/**
 * The store of buckets that decides calls. A failure of the store is returned as a value ({@link
 * Decision.Undecided}), never thrown. Thread-safe.
 *
 * <p>The future of a submitted check always completes normally, at the latest at the caller's
 * timeout, which is a setting of the cache. The cache may charge the check before or after that. A
 * thread of the cache that all checks share completes the future. Dependent stages must not block,
 * and must not complete or cancel the future.
 */
public interface DecisionCache extends AutoCloseable {
  /** Takes the cost from every bucket of the check or from none, and waits for the decision. */
  default Decision take(Check check) {
    return submit(check).join();
  }

  /**
   * Submits a check that takes the cost from every bucket or from none. Does not wait for the
   * decision. If a thread submits several checks before it waits for the first one, they are
   * decided together.
   */
  CompletableFuture<Decision> submit(Check check);

  /** Decides as {@link #take} would, but charges nothing and writes nothing. */
  default Decision peek(Check check) {
    return submitPeek(check).join();
  }

  /** Submits a {@link #peek}. Does not wait for the decision. */
  CompletableFuture<Decision> submitPeek(Check check);

  /**
   * Submits the release of a holder's slots. Does not wait for the decision. The decision is {@code
   * Allowed} whether the holder has slots or not. The reply of a bucket is charged if the holder
   * had a slot there. If the decision is undecided, slots may or may not be released. A release may
   * be repeated.
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
