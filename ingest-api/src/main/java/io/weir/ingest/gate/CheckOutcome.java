// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The outcome of a call. */
public sealed interface CheckOutcome {
  /**
   * The call was decided by the cache, or by the policies' failure modes if the cache did not
   * reply.
   *
   * @param call the recorded event
   * @param limits the state of each policy after the call; empty if the cache did not reply
   * @param denial the reason why a bucket denied the call; null if the call was allowed, or denied
   *     without a bucket
   * @param recorded the result of recording; null for a peek, which is not recorded
   * @param slots the slots that the call holds; null for none
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

    /**
     * Returns the state of the policy that the call's record names; null if the policy is not
     * enforced.
     */
    public @Nullable LimitStatus recordedLimit() {
      for (LimitStatus limit : limits) {
        if (limit.enforced() && limit.policy().name().equals(call.policy())) {
          return limit;
        }
      }
      return null;
    }

    Decided with(@Nullable HeldSlots held) {
      return held == null ? this : new Decided(call, limits, denial, recorded, held);
    }

    Decided with(Recorded result) {
      return new Decided(call, limits, denial, result, slots);
    }
  }

  /**
   * This node was too busy to query the decision cache or to read the reply. The call is neither
   * allowed nor recorded, and the caller should retry. Failure modes do not apply, because the
   * cache has not failed. Overload must not switch limits off.
   *
   * @param detail the operation for which the node was too busy
   */
  record Shed(String detail) implements CheckOutcome {}

  /**
   * The API key is unknown or expired. Metrics distinguish unknown and expired keys; the response
   * does not. The call was neither decided nor recorded.
   */
  enum KeyRefused implements CheckOutcome {
    /** The only instance. */
    INSTANCE
  }

  /**
   * The log could not record the decision. The decision is therefore invalid. The caller should
   * retry.
   */
  record NotKept(Recorded.Refused refused) implements CheckOutcome {}

  /**
   * The reason why buckets denied a call.
   *
   * @param violated names of the enforced policies whose buckets had fewer tokens than the cost
   * @param retryAfterMicros time until all these buckets have enough tokens; −1 if a bucket can
   *     never have enough tokens
   * @param costExceedsCapacity whether the cost exceeds a bucket's capacity; if true, every retry
   *     is denied
   */
  record Denial(List<String> violated, long retryAfterMicros, boolean costExceedsCapacity) {
    public Denial {
      violated = List.copyOf(violated);
    }
  }
}
