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
 * @param standing the settlement by which the call is billed: this one if it stands, an earlier one
 *     if the call was settled before. Null if the settlement is refused, or if the earlier one was
 *     counted by a version that did not store it
 * @param reason why the settlement is refused; null if it is not
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
          "the verdict must have a standing settlement unless refused, and a reason if refused: "
              + outcome);
    }
  }

  /** The outcome of a settlement. */
  public enum Outcome {
    /** The call is billed by this settlement. */
    STANDS("stands"),
    /** The call had been settled before; the earlier settlement stands. */
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
     * @throws IllegalArgumentException if there is none
     */
    public static Outcome ofWireName(String wireName) {
      for (Outcome outcome : values()) {
        if (outcome.wireName.equals(wireName)) {
          return outcome;
        }
      }
      throw new IllegalArgumentException("unknown verdict '" + wireName + "'");
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
