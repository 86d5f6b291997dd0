// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsagePosition;
import java.util.function.Consumer;
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

  /**
   * Passes the verdict on a settlement of this node to a callback when it arrives, and returns
   * without waiting.
   *
   * @param settlement the settlement's position
   * @param callback called at most once, on a thread that must not be blocked. Never called if the
   *     verdict does not arrive before 10,000 others are awaited this way, or if verdicts are not
   *     followed
   */
  default void onVerdict(UsagePosition settlement, Consumer<SettlementVerdict> callback) {}
}
