// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

/**
 * The members of a state topic row that decide whether the row may be erased. Immutable.
 *
 * @param startEpochMillis start of the row's window
 * @param endEpochMillis exclusive end of the row's window
 * @param isFinal whether the row agrees with a row of the ledger; false while its window is running
 * @param lastOffset greatest offset of the records in the calls topic that contributed to the row;
 *     −1 if none did
 * @param writtenEpochMillis the broker's time of the record that caused the row's last change
 */
record ClientRow(
    long startEpochMillis,
    long endEpochMillis,
    boolean isFinal,
    long lastOffset,
    long writtenEpochMillis) {}
