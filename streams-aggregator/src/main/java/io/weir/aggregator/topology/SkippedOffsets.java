// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import org.apache.kafka.streams.errors.StreamsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A check that no record of the calls topic is skipped. Thread-safe.
 *
 * <p>If a transaction cannot be committed, Kafka Streams revives the task but does not reset the
 * position of the consumer. Kafka Streams then never processes the records of the aborted
 * transaction, or the records that the consumer has already fetched. The check detects skipped
 * records by the offset of the next record. The check then throws an exception, so the thread ends
 * before a commit. The new thread begins at the last committed offset. Retention and transaction
 * markers also leave gaps in the offsets, although no record is skipped. The check reads the log to
 * find out whether a gap contains skipped records.
 */
final class SkippedOffsets {
  private static final Logger LOG = LoggerFactory.getLogger(SkippedOffsets.class);

  private final Log log;

  /** A reader of the calls topic. */
  interface Log {
    /**
     * Returns whether the log has a record in {@code [fromOffset, toOffset)}.
     *
     * @throws org.apache.kafka.common.KafkaException if Kafka does not answer
     */
    boolean holdsRecord(int partition, long fromOffset, long toOffset);
  }

  /**
   * Creates a check that reads a log.
   *
   * @param log the log, which is read by the thread that detects a gap in the offsets
   */
  SkippedOffsets(Log log) {
    this.log = log;
  }

  /**
   * Checks that no record is between the last counted record and the next record.
   *
   * @param expectedOffset the offset after the last counted record; negative if no record was
   *     counted
   * @param offset the offset of the next record
   * @throws StreamsException if records between the two offsets were skipped
   */
  void refuse(int partition, long expectedOffset, long offset) {
    if (expectedOffset < 0 || offset <= expectedOffset) {
      return;
    }
    if (log.holdsRecord(partition, expectedOffset, offset)) {
      throw new StreamsException(
          "records were skipped partition="
              + partition
              + " expected_offset="
              + expectedOffset
              + " offset="
              + offset
              + "; the partition is read again from the last committed offset");
    }
    LOG.warn(
        "the calls topic has no records between two offsets; if retention removed records,"
            + " they were not counted partition={} from_offset={} to_offset={}",
        partition,
        expectedOffset,
        offset);
  }
}
