// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;
import org.jspecify.annotations.Nullable;

/**
 * The aggregator's verdict on one settlement in the log. Immutable.
 *
 * @param position the position of the settlement
 * @param client the client of the call
 * @param id the id of the call
 * @param outcome the outcome
 * @param standing the settlement by which the call is billed: this settlement, or an earlier
 *     settlement if the call was settled before. {@code standing} is null if the settlement is
 *     refused, or if an old version of Weir counted the earlier settlement without storing it
 * @param reason reason for which the settlement is refused; null if the settlement is not refused
 */
public record SettlementVerdict(
    UsagePosition position,
    String client,
    String id,
    Outcome outcome,
    @Nullable Standing standing,
    @Nullable String reason) {

  public SettlementVerdict {
    Names.require("client", client);
    Names.require("id", id);
    if ((outcome == Outcome.REFUSED) != (reason != null)
        || (outcome == Outcome.STANDS && standing == null)
        || (outcome == Outcome.REFUSED && standing != null)) {
      throw new IllegalArgumentException(
          "reason is required for REFUSED and not allowed for other outcomes, standing is required"
              + " for STANDS and not allowed for REFUSED; outcome is "
              + outcome);
    }
  }

  /** The outcome of a settlement. */
  public enum Outcome {
    /** The call is billed by this settlement. */
    STANDS("stands"),
    /** The call was settled before. The earlier settlement stays valid. */
    SETTLED_BEFORE("settled-before"),
    /**
     * The settlement has no effect: its call was not billed, or its amount does not fit into the
     * ledger.
     */
    REFUSED("refused");

    private final String wireName;

    Outcome(String wireName) {
      this.wireName = wireName;
    }

    /** Returns the wire name. */
    public String wireName() {
      return wireName;
    }

    /**
     * Returns the outcome with the given wire name.
     *
     * @throws IllegalArgumentException if there is no such outcome
     */
    public static Outcome ofWireName(String wireName) {
      for (Outcome outcome : values()) {
        if (outcome.wireName.equals(wireName)) {
          return outcome;
        }
      }
      throw new IllegalArgumentException("unknown verdict: '" + wireName + "'");
    }
  }

  /**
   * A settlement by which a call is billed.
   *
   * @param actualCost the cost that is billed
   * @param position the settlement's position
   */
  public record Standing(long actualCost, UsagePosition position) {}
}
