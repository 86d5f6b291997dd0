// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.quarantine;

import org.jspecify.annotations.Nullable;

/**
 * One line or whole record of the quarantine, however often it was refused.
 *
 * @param source where it was refused first
 * @param partition of the quarantine where it stands for the last time
 * @param offset there
 * @param refusedAtEpochMillis when it was refused last, by the broker's clock
 * @param reason why, for the last time
 * @param refusals how often it stands in the quarantine
 * @param client whose it is; null when that is not known, or not one
 * @param id of the call; null when that is not known
 * @param isSettlement whether it settles a call
 * @param stays why it cannot be replayed; null when it can
 * @param isCounted whether a replay has brought it to the count
 */
public record Entry(
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

  /** What can be said of an entry in a word. */
  public enum State {
    /** Can be replayed. */
    WAITS,
    /** Cannot, or not yet. */
    STAYS,
    /** Was replayed, and is counted. */
    COUNTED
  }

  /** In a word. */
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

  /** The same, which cannot be replayed as things are. */
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

  /** Whether this is where the entry stands for the last time. */
  boolean isAt(Refusal refusal) {
    return partition == refusal.partition() && offset == refusal.offset();
  }
}
