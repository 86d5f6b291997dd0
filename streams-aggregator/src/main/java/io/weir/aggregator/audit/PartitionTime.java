// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

/**
 * The times of one partition as its records show them. They change only while a record of the
 * partition is taken. All are in milliseconds since 1970.
 */
public interface PartitionTime {
  /**
   * Returns the time by which work is paced: the broker's time of the newest record, or the newest
   * low watermark of any node if the broker's clock is too far ahead of it. May decrease.
   */
  long nowEpochMillis();

  /**
   * Returns the partition's low watermark: every call decided before it, by a node that is waited
   * for, has been taken. Never decreases.
   */
  long watermarkEpochMillis();

  /** Returns the greatest plausible low watermark that any node has sent; 0 before the first. */
  long newestNodeEpochMillis();

  /** Returns whether the broker's time of the newest record is too far ahead to be believed. */
  boolean isBrokerAhead();

  /**
   * Returns whether records may be missing of something that began at a time, because the partition
   * had already lost its oldest records when it was first read.
   */
  boolean mayLackRecordsSince(long beganEpochMillis);
}
