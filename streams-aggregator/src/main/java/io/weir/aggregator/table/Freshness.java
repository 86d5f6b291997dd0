// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

/** How much of what was published the table is known to hold of a partition. */
public enum Freshness {
  /** Everything that was published before the request. */
  UP_TO_DATE,

  /** Everything that was published before Kafka became unreachable, and perhaps no more. */
  KAFKA_AWAY,

  /**
   * The partition is not here, is being read for the first time, or could not be read any further.
   */
  MISSING
}
