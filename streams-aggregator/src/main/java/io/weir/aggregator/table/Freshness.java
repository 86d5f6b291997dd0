// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

/** How up to date the table's copy of a partition is. */
public enum Freshness {
  /** The table contains everything published before the request. */
  UP_TO_DATE,

  /**
   * Kafka is unavailable. The table contains everything published before that, and perhaps no more.
   */
  KAFKA_AWAY,

  /** The partition is not followed, is being read for the first time, or reading it timed out. */
  MISSING
}
