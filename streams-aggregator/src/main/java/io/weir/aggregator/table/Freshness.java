// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

/** The degree to which the table's copy of a partition is up to date. */
public enum Freshness {
  /** The table contains all records published before the request. */
  UP_TO_DATE,

  /** Kafka is unavailable. The table may lack records published shortly before the request. */
  KAFKA_AWAY,

  /** The partition is not followed, is being read for the first time, or reading it timed out. */
  MISSING
}
