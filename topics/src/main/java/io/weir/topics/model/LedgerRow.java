// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/** A row of the usage ledger. The aggregator appends rows and never edits them. */
public sealed interface LedgerRow permits UsageRow, CloseRow {
  /** Schema version of CLOSE rows, and of rows with a UTC month as the billing period. */
  int SCHEMA_VERSION = 1;

  /**
   * Schema version of rows with a billing period of the client's own calendar. A reader of version
   * 1 would interpret the period as a UTC month.
   */
  int SCHEMA_VERSION_OF_CALENDARS = 2;

  /**
   * Returns the row's id: a name-based UUID (version 5) of the row's natural key. The id is
   * therefore the same after every replay.
   */
  String recordId();

  /** Returns the partition of the calls topic, and of the ledger, to which the row belongs. */
  int inputPartition();

  /** Returns the end of the last closed window of the partition when the row was written. */
  long closedThroughEpochMillis();

  /** Returns the creation time of the row by the aggregator's clock. */
  long emittedAtEpochMillis();

  /** Returns this row with another creation time by the aggregator's clock. */
  LedgerRow emittedAt(long epochMillis);
}
