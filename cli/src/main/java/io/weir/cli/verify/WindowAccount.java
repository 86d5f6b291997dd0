// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import com.fasterxml.jackson.annotation.JsonProperty;
import org.jspecify.annotations.Nullable;

/**
 * The figures of one key and window from the three sources: the recount, the ledger and the state
 * topic. Mutable; not thread-safe.
 */
final class WindowAccount {
  private static final long NOT_SHOWN = -1;

  final Slot slot;

  WindowFigures counted = new WindowFigures();
  WindowFigures billed = new WindowFigures();
  WindowFigures shown = new WindowFigures();

  /** The part of {@link #counted} that belongs to the FINAL row. */
  WindowFigures countedFinal = new WindowFigures();

  /** The FINAL row in the ledger; empty if there is none. */
  WindowFigures billedFinal = new WindowFigures();

  /** Broker's time of the record that closed the window; 0 if there is no FINAL row. */
  long closedAtEpochMillis;

  /**
   * Number of duplicates with exactly the time of the close. The FINAL row may or may not count
   * them.
   */
  long duplicatesAtClose;

  /** Whether the last ledger row has {@code complete} set. */
  boolean billedComplete;

  /** Whether the record of the state topic has {@code complete} set. */
  boolean shownComplete;

  /** Revision of the last ledger row; 0 if there is none. */
  long billedRevision;

  /** Revision in the state topic; 0 while the window is running, −1 if there is no record. */
  long shownRevision = NOT_SHOWN;

  /**
   * Sequence number of the first line counted, among all counted lines; 0 if there is none, or if
   * it is unknown.
   */
  long firstCounted;

  /** Billing period of the first line counted; null if there is none. */
  @Nullable String countedPeriod;

  /** Billing period of the first ledger row; null if there is none. */
  @Nullable String billedPeriod;

  /** Billing period in the state topic; null if there is no record. */
  @Nullable String shownPeriod;

  WindowAccount(@JsonProperty("slot") Slot slot) {
    this.slot = slot;
  }

  boolean isShown() {
    return shownRevision != NOT_SHOWN;
  }

  void showNothing() {
    shown = new WindowFigures();
    shownRevision = NOT_SHOWN;
    shownPeriod = null;
  }

  boolean hasRow() {
    return billedRevision > 0 || isShown();
  }
}
