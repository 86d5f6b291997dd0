// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

/** How much of what is published a partition of the table is known to hold. */
public enum Freshness {
  /** Everything that was published before it was asked. */
  UP_TO_DATE,

  /** Everything that was published before Kafka went away, perhaps less; Kafka does not answer. */
  KAFKA_AWAY,

  /** The partition is not here, or is being read for the first time, or could not be read on. */
  MISSING
}
