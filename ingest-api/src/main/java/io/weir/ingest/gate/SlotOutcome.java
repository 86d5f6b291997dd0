// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.DecidedBy;
import java.util.List;

/** The outcome of a renewal or a release of slots. */
public sealed interface SlotOutcome {
  /**
   * The slots are held for another lease.
   *
   * @param token renews and releases the slots from now on
   * @param leaseMicros time for which they are held without another renewal
   * @param decidedBy the cache, or the fallback while it is unavailable: LOCAL or FAIL_OPEN; NONE
   *     if all policies of the slots are off
   */
  record Renewed(SlotToken token, long leaseMicros, DecidedBy decidedBy) implements SlotOutcome {}

  /**
   * The slots are no longer held and are not given back, because other calls may hold them now.
   *
   * @param policies names of the policies that lack a slot; empty if no policy in force has such
   *     slots
   */
  record Ended(List<String> policies) implements SlotOutcome {
    public Ended {
      policies = List.copyOf(policies);
    }
  }

  /**
   * The slots are free.
   *
   * @param wereHeld whether any of them was held until now
   */
  record Released(boolean wereHeld) implements SlotOutcome {}

  /**
   * The cache does not reply, so it is unknown whether the slots are held; the caller should retry.
   *
   * @param detail the reason
   */
  record Unknown(String detail) implements SlotOutcome {}

  /**
   * This node was too busy; the state is unknown, and the caller should retry.
   *
   * @param detail the operation that the node was too busy for
   */
  record Shed(String detail) implements SlotOutcome {}
}
