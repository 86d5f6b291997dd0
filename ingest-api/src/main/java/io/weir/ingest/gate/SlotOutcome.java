// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.DecidedBy;
import java.util.List;

/** The outcome of a renewal or a release of slots. */
public sealed interface SlotOutcome {
  /**
   * The slots are held for another lease.
   *
   * @param token what renews and releases them from now on
   * @param leaseMicros how long they are held without another renewal
   * @param decidedBy the cache, or what decides while it cannot: LOCAL or FAIL_OPEN; NONE if all
   *     policies of the slots are off
   */
  record Renewed(SlotToken token, long leaseMicros, DecidedBy decidedBy) implements SlotOutcome {}

  /**
   * The slots are not held any more, and are not given back: they may be others' by now.
   *
   * @param policies names of the policies of which a slot is missing; empty if no policy in force
   *     has any of them
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
   * The cache does not answer, so it is not known whether the slots are held; the caller is asked
   * to try again.
   *
   * @param detail why
   */
  record Unknown(String detail) implements SlotOutcome {}

  /**
   * This node was too busy; nothing is known, and the caller is asked to try again.
   *
   * @param detail what the node was too busy to do
   */
  record Shed(String detail) implements SlotOutcome {}
}
