// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import org.jspecify.annotations.Nullable;

/**
 * One line or whole record of the quarantine, also if it was refused several times.
 *
 * @param source place where it was first refused
 * @param partition partition of its newest record in the quarantine
 * @param offset offset of that record
 * @param refusedAtEpochMillis time of its last refusal, by the broker's clock
 * @param reason reason of its last refusal
 * @param refusals number of its records in the quarantine
 * @param client the client; null if unknown, or if there are several
 * @param id id of the call; null if unknown
 * @param isSettlement whether it settles a call
 * @param stays why it cannot be replayed; null if it can
 * @param isCounted whether a replay of it has been counted
 */
record Entry(
    Source source,
    int partition,
    long offset,
    long refusedAtEpochMillis,
    String reason,
    int refusals,
    @Nullable String client,
    @Nullable String id,
    boolean isSettlement,
    @Nullable String stays,
    boolean isCounted) {

  /** The state of an entry. */
  public enum State {
    /** Can be replayed. */
    WAITS,
    /** Cannot be replayed, or not yet. */
    STAYS,
    /** Was replayed and is counted. */
    COUNTED
  }

  /** Returns the state. */
  public State state() {
    return isCounted ? State.COUNTED : stays == null ? State.WAITS : State.STAYS;
  }

  static Entry of(Refusal refusal, Candidate candidate, int refusals) {
    return new Entry(
        candidate.source(),
        refusal.partition(),
        refusal.offset(),
        refusal.refusedAtEpochMillis(),
        refusal.reason(),
        refusals,
        candidate.client(),
        candidate.id(),
        candidate.isSettlement(),
        candidate.stays(),
        false);
  }

  Entry counted() {
    return with(stays, true);
  }

  /** Returns this entry as one that cannot be replayed at present. */
  Entry staying(String why) {
    return with(why, isCounted);
  }

  private Entry with(@Nullable String nowStays, boolean nowCounted) {
    return new Entry(
        source,
        partition,
        offset,
        refusedAtEpochMillis,
        reason,
        refusals,
        client,
        id,
        isSettlement,
        nowStays,
        nowCounted);
  }

  /** Returns whether a refusal is the newest record of this entry. */
  boolean isAt(Refusal refusal) {
    return partition == refusal.partition() && offset == refusal.offset();
  }
}
