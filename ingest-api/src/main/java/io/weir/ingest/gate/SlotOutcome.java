// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.DecidedBy;
import java.util.List;

/** The outcome of a renewal or a release of slots. */
public sealed interface SlotOutcome {
  /**
   * The call holds the slots for another lease.
   *
   * @param token the token that renews and releases the slots from now on
   * @param leaseMicros time for which the call holds the slots without another renewal
   * @param decidedBy CACHE; LOCAL or FAIL_OPEN while the cache is unavailable; NONE if all policies
   *     of the slots are off
   */
  record Renewed(SlotToken token, long leaseMicros, DecidedBy decidedBy) implements SlotOutcome {}

  /**
   * The call no longer holds the slots. Other calls may hold these slots now.
   *
   * @param policies names of the policies that have no slot for the call; empty if the token's
   *     slots belong to no policy in force
   */
  record Ended(List<String> policies) implements SlotOutcome {
    public Ended {
      policies = List.copyOf(policies);
    }
  }

  /**
   * The slots are free.
   *
   * @param wereHeld whether the call held at least one of the slots until this release
   */
  record Released(boolean wereHeld) implements SlotOutcome {}

  /**
   * The cache did not reply, and the node does not know whether the call holds the slots. The
   * caller should retry.
   *
   * @param detail the reason
   */
  record Unknown(String detail) implements SlotOutcome {}

  /**
   * This node was too busy. The state of the slots is unknown, and the caller should retry.
   *
   * @param detail the operation for which the node was too busy
   */
  record Shed(String detail) implements SlotOutcome {}
}
