// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsagePosition;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Returns the aggregator's verdicts on settlements. Thread-safe. */
@FunctionalInterface
public interface Verdicts {
  /**
   * Waits, for a bounded time, for the verdict on a settlement of this node.
   *
   * @param settlement its position
   * @return the verdict, or null if it does not arrive in time or too many threads wait already
   */
  @Nullable SettlementVerdict await(UsagePosition settlement);

  /**
   * Passes on the verdict on a settlement of this node when it arrives, and returns without waiting
   * for it.
   *
   * @param settlement its position
   * @param told called at most once, by a thread that must not be blocked; never, if the verdict
   *     does not arrive before 10,000 others are awaited in this way, or verdicts are not followed
   */
  default void whenTold(UsagePosition settlement, Consumer<SettlementVerdict> told) {}
}
