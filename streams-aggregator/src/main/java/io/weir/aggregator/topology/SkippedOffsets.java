// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import org.apache.kafka.streams.errors.StreamsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Detects skipped records and prevents the aggregator from continuing after them. Thread-safe.
 *
 * <p>If a transaction cannot be committed, Kafka Streams recreates the task but does not change the
 * position of the consumer. The records of the aborted transaction, and those already fetched, are
 * then never processed. The offset of the next record shows this. The thread then dies before it
 * commits anything, and its replacement begins at the last committed offset. Offsets may also be
 * missing permanently (deleted by retention, or markers of a transaction). A read of the log
 * distinguishes the two cases.
 */
final class SkippedOffsets {
  private static final Logger LOG = LoggerFactory.getLogger(SkippedOffsets.class);

  private final Log log;

  /** A reader of the calls topic. */
  interface Log {
    /**
     * Returns whether the log has a record in {@code [fromOffset, toOffset)}.
     *
     * @throws org.apache.kafka.common.KafkaException if the log does not answer
     */
    boolean holdsRecord(int partition, long fromOffset, long toOffset);
  }

  /**
   * Creates a check against a log.
   *
   * @param log read for each gap of offsets, by the thread that detected it
   */
  SkippedOffsets(Log log) {
    this.log = log;
  }

  /**
   * Checks the offset of the next record.
   *
   * @param expectedOffset the offset after the last record counted; negative if there is none
   * @param offset the offset of the next record
   * @throws StreamsException if there are records in between, so that they were skipped
   */
  void refuse(int partition, long expectedOffset, long offset) {
    if (expectedOffset < 0 || offset <= expectedOffset) {
      return;
    }
    if (log.holdsRecord(partition, expectedOffset, offset)) {
      throw new StreamsException(
          "records skipped partition="
              + partition
              + " expected_offset="
              + expectedOffset
              + " offset="
              + offset
              + "; the partition is read again from the last committed offset");
    }
    LOG.warn(
        "the calls topic no longer contains some offsets; their records were not counted"
            + " partition={} from_offset={} to_offset={}",
        partition,
        expectedOffset,
        offset);
  }
}
