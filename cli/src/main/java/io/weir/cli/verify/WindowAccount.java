// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.Billed;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The figures of one key and window from the three sources: the recount, the ledger and the state
 * topic. Mutable; not thread-safe.
 */
final class WindowAccount {
  private static final int BYTES = 5 * WindowFigures.BYTES + 5 * Long.BYTES + 3 * Integer.BYTES + 2;
  private static final int NO_TEXT = -1;

  private static final long NOT_SHOWN = -1;

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

  /** Returns whether the state topic has a record. */
  boolean isShown() {
    return shownRevision != NOT_SHOWN;
  }

  /** Removes the figures of the state topic. */
  void showNothing() {
    shown = new WindowFigures();
    shownRevision = NOT_SHOWN;
    shownPeriod = null;
  }

  /** Returns whether the ledger or the state topic has a row. */
  boolean hasRow() {
    return billedRevision > 0 || isShown();
  }

  byte[] toBytes() {
    byte[] counting = utf8(countedPeriod);
    byte[] billing = utf8(billedPeriod);
    byte[] showing = utf8(shownPeriod);
    ByteBuffer bytes =
        ByteBuffer.allocate(BYTES + counting.length + billing.length + showing.length);
    counted.write(bytes);
    billed.write(bytes);
    shown.write(bytes);
    countedFinal.write(bytes);
    billedFinal.write(bytes);
    bytes.putLong(closedAtEpochMillis).putLong(duplicatesAtClose);
    bytes.put((byte) (billedComplete ? 1 : 0)).put((byte) (shownComplete ? 1 : 0));
    bytes.putLong(billedRevision).putLong(shownRevision).putLong(firstCounted);
    put(bytes, countedPeriod, counting);
    put(bytes, billedPeriod, billing);
    put(bytes, shownPeriod, showing);
    return bytes.array();
  }

  private static byte[] utf8(@Nullable String text) {
    return text == null ? new byte[0] : text.getBytes(StandardCharsets.UTF_8);
  }

  private static void put(ByteBuffer bytes, @Nullable String text, byte[] utf8) {
    bytes.putInt(text == null ? NO_TEXT : utf8.length).put(utf8);
  }

  private static @Nullable String text(ByteBuffer bytes) {
    int length = bytes.getInt();
    if (length == NO_TEXT) {
      return null;
    }
    byte[] utf8 = new byte[length];
    bytes.get(utf8);
    return length == 0 ? Billed.UTC_MONTH : new String(utf8, StandardCharsets.UTF_8);
  }

  static WindowAccount ofBytes(byte[] value) {
    ByteBuffer bytes = ByteBuffer.wrap(value);
    WindowAccount account = new WindowAccount();
    account.counted = WindowFigures.read(bytes);
    account.billed = WindowFigures.read(bytes);
    account.shown = WindowFigures.read(bytes);
    account.countedFinal = WindowFigures.read(bytes);
    account.billedFinal = WindowFigures.read(bytes);
    account.closedAtEpochMillis = bytes.getLong();
    account.duplicatesAtClose = bytes.getLong();
    account.billedComplete = bytes.get() != 0;
    account.shownComplete = bytes.get() != 0;
    account.billedRevision = bytes.getLong();
    account.shownRevision = bytes.getLong();
    account.firstCounted = bytes.getLong();
    account.countedPeriod = text(bytes);
    account.billedPeriod = text(bytes);
    account.shownPeriod = text(bytes);
    return account;
  }
}
