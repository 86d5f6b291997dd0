// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

/**
 * The times of one partition, derived from its records. They change only while a record of the
 * partition is processed. All are in milliseconds since 1970.
 */
public interface PartitionTime {
  /**
   * Returns the current time of the partition: the broker's time of the newest record. If the
   * broker's clock is too far ahead of all nodes, returns the newest low watermark instead. May
   * decrease.
   */
  long nowEpochMillis();

  /**
   * Returns the watermark of the partition: every earlier call of a live node has been processed.
   * Never decreases.
   */
  long watermarkEpochMillis();

  /** Returns the greatest plausible low watermark of all nodes; 0 before the first. */
  long newestNodeEpochMillis();

  /** Returns whether the broker's time of the newest record is too far ahead to be trusted. */
  boolean isBrokerAhead();

  /**
   * Returns whether records since a time may be missing, because Kafka had deleted the oldest
   * records when the partition was first read.
   */
  boolean mayLackRecordsSince(long beganEpochMillis);
}
