// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/** Tells what the counting did with settlements. Safe for threads. */
@FunctionalInterface
public interface Verdicts {
  /**
   * Waits for what became of a settlement of this node; for a bounded time.
   *
   * @param settlement its place
   * @return null when it is not known in time, or too many wait already
   */
  @Nullable SettlementVerdict await(UsagePosition settlement);
}
