// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import org.apache.kafka.streams.errors.StreamsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Detects records that were skipped, and refuses to continue after them. Thread-safe.
 *
 * <p>When a transaction cannot be committed, Kafka Streams recreates the task but leaves the
 * position of the consumer unchanged: the records of the aborted transaction, and those already
 * fetched, are never processed. The offset of the next record reveals it. The thread then dies
 * before anything is committed, and its successor begins at the offset committed last. Offsets may
 * also be missing permanently (deleted by retention, markers of a producer's transaction): the log
 * itself is asked which is the case.
 */
final class SkippedOffsets {
  private static final Logger LOG = LoggerFactory.getLogger(SkippedOffsets.class);

  private final Log log;

  /** The calls topic, as a reader finds it. */
  interface Log {
    /**
     * Returns whether there is a record in {@code [fromOffset, toOffset)}.
     *
     * @throws org.apache.kafka.common.KafkaException if the log does not answer
     */
    boolean holdsRecord(int partition, long fromOffset, long toOffset);
  }

  /**
   * Creates a check against a log.
   *
   * @param log asked at each gap, by the thread that met it
   */
  SkippedOffsets(Log log) {
    this.log = log;
  }

  /**
   * Checks the offset of the next record.
   *
   * @param expectedOffset the offset after the last record counted; negative if there is none
   * @param offset the offset of the next record
   * @throws StreamsException if there are records in between, which were skipped
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
              + "; the partition is read again from what was committed");
    }
    LOG.warn(
        "the log has no record at some offsets, what was there is gone and was not counted"
            + " partition={} from_offset={} to_offset={}",
        partition,
        expectedOffset,
        offset);
  }
}
