// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/** Provides the aggregator's verdicts on settlements. Thread-safe. */
@FunctionalInterface
public interface Verdicts {
  /**
   * Waits, for a bounded time, for the verdict on a settlement of this node.
   *
   * @param settlement the settlement's position
   * @return the verdict, or null after the timeout or if too many threads already wait
   */
  @Nullable SettlementVerdict await(UsagePosition settlement);
}
