// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import org.jspecify.annotations.Nullable;

/**
 * One line or whole record of the quarantine. One entry covers all refusals of the line or record.
 *
 * @param source place where the line or record was first refused
 * @param partition partition of the entry's newest record in the quarantine
 * @param offset offset of the entry's newest record in the quarantine
 * @param refusedAtEpochMillis time of the last refusal, by the broker's clock
 * @param reason reason of the last refusal
 * @param refusals number of the entry's records in the quarantine
 * @param client the client; null if unknown, or if there are several
 * @param id id of the call; null if unknown
 * @param isSettlement whether the line settles a call
 * @param stays the reason for which the entry cannot be replayed; null if it can be replayed
 * @param isCounted whether a replay of the entry has been counted
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
    /** Cannot be replayed, or cannot be replayed yet. */
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

  /** Returns a copy of this entry that cannot be replayed at present. */
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
