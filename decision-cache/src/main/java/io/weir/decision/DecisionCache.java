// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.concurrent.CompletableFuture;

/**
 * A store of buckets that decides calls. If the store fails, the decision is {@link
 * Decision.Undecided}; no exception is thrown. Thread-safe.
 *
 * <p>The future of a submitted check always completes normally, at the latest at the caller's
 * timeout (a setting of the cache). The cache may charge the check before or after the future
 * completes. One thread of the cache completes the futures of all checks. Dependent stages must
 * therefore not block, and must not complete or cancel the future.
 */
public interface DecisionCache extends AutoCloseable {
  /** Takes the cost from every bucket of the check or from no bucket. Waits for the decision. */
  default Decision take(Check check) {
    return submit(check).join();
  }

  /**
   * Submits a check that takes the cost from every bucket or from no bucket. Does not wait for the
   * decision. A thread can submit several checks before it waits for the first decision; the cache
   * then decides these checks together.
   */
  CompletableFuture<Decision> submit(Check check);

  /**
   * Returns the decision that {@link #take} would return, but charges and writes nothing. Waits for
   * the decision.
   */
  default Decision peek(Check check) {
    return submitPeek(check).join();
  }

  /**
   * Submits a check that charges and writes nothing; see {@link #peek}. Does not wait for the
   * decision.
   */
  CompletableFuture<Decision> submitPeek(Check check);

  /**
   * Submits the release of a holder's slots. Does not wait for the decision. The decision is {@code
   * Allowed} even if the holder has no slots. In the reply for a bucket, {@code charged} is true if
   * the holder had a slot in the bucket. If the decision is {@code Undecided}, the holder may still
   * have the slots. A release may be repeated.
   *
   * @param check buckets with slots, and the claim of the holder
   */
  CompletableFuture<Decision> submitRelease(Check check);

  /** Returns whether the cache replies at present. This method is fast and may be called often. */
  Health check();

  @Override
  void close();

  /**
   * A cache's health.
   *
   * @param ok whether the cache replies
   * @param detail the error, or a description of the server that has replied
   */
  record Health(boolean ok, String detail) {}
}
