// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/** A row of the usage ledger: append-only, never edited, in the order of its partition. */
public sealed interface LedgerRow permits UsageRow, CloseRow {
  /** Version of the row's schema. */
  int SCHEMA_VERSION = 1;

  /** The same after any replay: a name-based UUID (version 5) of the row's natural key. */
  String recordId();

  /** The partition of the calls topic, and of the ledger, that the row belongs to. */
  int inputPartition();

  /** The same row, made at another time of the aggregator's clock. */
  LedgerRow emittedAt(long epochMillis);
}
