// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The outcome of a call. */
public sealed interface CheckOutcome {
  /**
   * The call was decided by the cache or, if the cache did not answer, by the policies' failure
   * modes.
   *
   * @param call the fact, as it is recorded
   * @param limits the state of each policy after the call; empty if the cache did not answer
   * @param denial why a bucket denied the call; null if it was allowed, or refused without the
   *     cache
   * @param recorded the result of recording it; null for a peek, which is not recorded
   * @param slots the slots that it holds; null if it holds none, as a peek
   */
  record Decided(
      CallEvent call,
      List<LimitStatus> limits,
      @Nullable Denial denial,
      @Nullable Recorded recorded,
      @Nullable HeldSlots slots)
      implements CheckOutcome {
    public Decided {
      limits = List.copyOf(limits);
    }

    /** Creates the outcome of a call that holds no slots. */
    public Decided(
        CallEvent call,
        List<LimitStatus> limits,
        @Nullable Denial denial,
        @Nullable Recorded recorded) {
      this(call, limits, denial, recorded, null);
    }

    Decided with(@Nullable HeldSlots held) {
      return held == null ? this : new Decided(call, limits, denial, recorded, held);
    }

    Decided with(Recorded result) {
      return new Decided(call, limits, denial, result, slots);
    }
  }

  /**
   * This node was too busy to ask the decision cache or to read its answer. The call is neither
   * allowed nor recorded, and the caller is asked to try again. Failure modes do not apply, since
   * the cache has not failed: overload must not switch limits off.
   *
   * @param detail what the node was too busy to do
   */
  record Shed(String detail) implements CheckOutcome {}

  /**
   * No client has the call's API key, or the key has expired: which of both is counted, and not
   * told to the caller. The call was neither decided nor recorded.
   */
  enum KeyRefused implements CheckOutcome {
    /** The only one. */
    INSTANCE
  }

  /** The decision could not be recorded and is therefore void; the caller is asked to try again. */
  record NotKept(Recorded.Refused refused) implements CheckOutcome {}

  /**
   * Why a bucket denied a call.
   *
   * @param violated names of the enforced policies whose buckets did not hold the cost
   * @param retryAfterMicros time until all of them will hold it; −1 if one never can
   * @param costExceedsCapacity whether the cost is above a capacity, so that waiting does not help
   */
  record Denial(List<String> violated, long retryAfterMicros, boolean costExceedsCapacity) {
    public Denial {
      violated = List.copyOf(violated);
    }
  }
}
