// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/**
 * Finds recorded calls in the calls topic. A failure is a returned value, never an exception.
 * Thread-safe.
 */
public interface CallFinder extends AutoCloseable {
  /** Searches for a call. Blocks for the duration of the search, which is bounded. */
  Finding find(CallQuery query);

  @Override
  void close();

  /**
   * Identifies the call to find.
   *
   * @param client the client of the call
   * @param id the call's id
   * @param position the position that the response to the call reported; null if unknown
   */
  record CallQuery(String client, String id, @Nullable UsagePosition position) {}

  /** The result of a search: the call, or the outcome of a settlement without the call. */
  sealed interface Finding permits Found, SettleOutcome.WithoutCall {}

  /**
   * The search found the call in the topic.
   *
   * @param call the call at the position of the query. If the query has no position: an allowed
   *     call with the id, or a denied call if the topic contains no allowed call. Never a
   *     settlement
   * @param position the position of the call
   */
  record Found(CallEvent call, UsagePosition position) implements Finding {}
}
