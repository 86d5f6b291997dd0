// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import java.nio.ByteBuffer;

/**
 * What each of the three sides states about one key and window: the recount of the calls, the
 * ledger, and the state topic. Mutable; not thread-safe.
 */
final class Account {
  private static final int BYTES = 3 * Tally.BYTES + 2 * Long.BYTES;

  private static final long NOT_SHOWN = -1;

  Tally counted = new Tally();
  Tally billed = new Tally();
  Tally shown = new Tally();

  /** Revision of the last ledger row; 0 if there is none. */
  long billedRevision;

  /** Revision in the state topic; 0 while the window is running, −1 if there is no record. */
  long shownRevision = NOT_SHOWN;

  /** Returns whether the state topic has a record. */
  boolean isShown() {
    return shownRevision != NOT_SHOWN;
  }

  byte[] toBytes() {
    ByteBuffer bytes = ByteBuffer.allocate(BYTES);
    counted.write(bytes);
    billed.write(bytes);
    shown.write(bytes);
    return bytes.putLong(billedRevision).putLong(shownRevision).array();
  }

  static Account ofBytes(byte[] value) {
    ByteBuffer bytes = ByteBuffer.wrap(value);
    Account account = new Account();
    account.counted = Tally.read(bytes);
    account.billed = Tally.read(bytes);
    account.shown = Tally.read(bytes);
    account.billedRevision = bytes.getLong();
    account.shownRevision = bytes.getLong();
    return account;
  }
}
