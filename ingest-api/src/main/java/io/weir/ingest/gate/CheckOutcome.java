// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What became of a call. */
public sealed interface CheckOutcome {
  /**
   * The call was decided, by the cache or by what policy says when the cache does not answer.
   *
   * @param call the fact, as it is recorded
   * @param limits where the call stands with each policy; empty when the cache did not answer
   * @param denial why it was denied by a bucket; null when allowed, or refused without the cache
   * @param recorded what became of its record; null for a peek, which has none
   */
  record Decided(
      CallEvent call,
      List<LimitStatus> limits,
      @Nullable Denial denial,
      @Nullable Recorded recorded)
      implements CheckOutcome {
    public Decided {
      limits = List.copyOf(limits);
    }
  }

  /**
   * This node was too busy to ask the decision cache, or to read its answer: the call is neither
   * let through nor recorded, and the caller is told to come again. Policy has no say, since
   * nothing is wrong with the cache: overload must not switch limits off.
   *
   * @param detail what the node did not come to
   */
  record Shed(String detail) implements CheckOutcome {}

  /** The decision could not be recorded, so it does not hold: the caller is told to come again. */
  record NotKept(Recorded.Refused refused) implements CheckOutcome {}

  /**
   * Why a bucket refused a call.
   *
   * @param violated names of the enforced policies whose buckets did not hold the cost
   * @param retryAfterMicros time until all of them will; −1 when one never can
   * @param costExceedsCapacity whether the cost is above a capacity, so that waiting cannot help
   */
  record Denial(List<String> violated, long retryAfterMicros, boolean costExceedsCapacity) {
    public Denial {
      violated = List.copyOf(violated);
    }
  }
}
