// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;
import org.jspecify.annotations.Nullable;

/**
 * What the counting did with one settlement in the log.
 *
 * @param position the place of the settlement that is judged
 * @param client whose call
 * @param id the id of the call
 * @param outcome what became of it
 * @param standing the settlement that the call is billed by: this one when it stands, an earlier
 *     one when the call was settled before. Null when the settlement is refused, and when the
 *     earlier one was counted by a version that did not remember it
 * @param reason why the settlement is refused; null when it is not
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
          "a settlement that stands is told, a refused one has a reason: " + outcome);
    }
  }

  /** What became of a settlement. */
  public enum Outcome {
    /** The call is billed by it. */
    STANDS("stands"),
    /** The call had been settled before; the earlier settlement stands. */
    SETTLED_BEFORE("settled-before"),
    /** It counts for nothing: its call was not billed, or the ledger cannot take it. */
    REFUSED("refused");

    private final String wireName;

    Outcome(String wireName) {
      this.wireName = wireName;
    }

    /** The name on the wire. */
    public String wireName() {
      return wireName;
    }

    /**
     * The outcome of a name on the wire.
     *
     * @throws IllegalArgumentException when there is none
     */
    public static Outcome ofWireName(String wireName) {
      for (Outcome outcome : values()) {
        if (outcome.wireName.equals(wireName)) {
          return outcome;
        }
      }
      throw new IllegalArgumentException("verdict is not known: '" + wireName + "'");
    }
  }

  /**
   * A settlement that a call is billed by.
   *
   * @param actualCost what the call is billed at
   * @param position the settlement's place
   */
  public record Standing(long actualCost, UsagePosition position) {}
}
