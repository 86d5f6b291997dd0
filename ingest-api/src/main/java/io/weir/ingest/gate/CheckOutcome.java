// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The outcome of a call. */
public sealed interface CheckOutcome {
  /**
   * The cache decided the call, or the policies' failure modes did because the cache did not reply.
   *
   * @param call the recorded event
   * @param limits the state of each policy after the call; empty if the cache did not reply
   * @param denial why a bucket denied the call; null if it was allowed, or was refused without the
   *     cache
   * @param recorded the result of recording; null for a peek, which is not recorded
   * @param slots the slots that the call holds; null for none, and for a peek
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
   * This node was too busy to query the decision cache or to read its reply. The call is neither
   * allowed nor recorded; the caller should retry. Failure modes do not apply, because the cache
   * has not failed: overload must not switch limits off.
   *
   * @param detail the operation that the node was too busy for
   */
  record Shed(String detail) implements CheckOutcome {}

  /**
   * The API key is unknown or expired. Metrics distinguish the two; the response does not. The call
   * was neither decided nor recorded.
   */
  enum KeyRefused implements CheckOutcome {
    /** The only instance. */
    INSTANCE
  }

  /** The decision could not be recorded and is therefore void; the caller should retry. */
  record NotKept(Recorded.Refused refused) implements CheckOutcome {}

  /**
   * Why a bucket denied a call.
   *
   * @param violated names of the enforced policies whose buckets did not hold the cost
   * @param retryAfterMicros time until all of them hold the cost; −1 if one of them never can
   * @param costExceedsCapacity whether the cost exceeds a capacity, so that waiting does not help
   */
  record Denial(List<String> violated, long retryAfterMicros, boolean costExceedsCapacity) {
    public Denial {
      violated = List.copyOf(violated);
    }
  }
}
