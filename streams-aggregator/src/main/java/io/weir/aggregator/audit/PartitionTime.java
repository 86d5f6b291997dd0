// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

/**
 * The times of one partition, which are derived from its records. These times change only when a
 * record of the partition is processed. All times are in milliseconds since 1970.
 */
public interface PartitionTime {
  /**
   * Returns the current time of the partition, which is the broker's time of the newest record. If
   * the broker's clock is too far ahead of all nodes, returns the newest low watermark instead. The
   * returned time can decrease.
   */
  long nowEpochMillis();

  /**
   * Returns the watermark of the partition. All earlier calls of live nodes have been processed.
   * The watermark never decreases.
   */
  long watermarkEpochMillis();

  /** Returns the greatest plausible low watermark of all nodes, or 0 if there is none. */
  long newestNodeEpochMillis();

  /**
   * Returns whether the broker's time of the newest record is too far ahead of all nodes to be
   * trusted.
   */
  boolean isBrokerAhead();

  /**
   * Returns whether records after the given time may be missing because Kafka deleted them before
   * the partition was first read.
   */
  boolean mayLackRecordsSince(long beganEpochMillis);
}
