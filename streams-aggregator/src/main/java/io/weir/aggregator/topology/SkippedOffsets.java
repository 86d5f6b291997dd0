// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import org.apache.kafka.streams.errors.StreamsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Refuses to go on behind records that were skipped. Safe for threads.
 *
 * <p>When a transaction cannot be committed, Kafka Streams makes the task anew but leaves the
 * consumer where it stood: the records of the aborted transaction, and those that were fetched
 * already, are never taken. The next record shows it by its offset. The thread then dies before
 * anything is committed, and its successor begins at the offset that was committed last. Offsets
 * may also be missing for good (deleted by retention, markers of a producer's transaction): the log
 * itself is asked which it is.
 */
final class SkippedOffsets {
  private static final Logger LOG = LoggerFactory.getLogger(SkippedOffsets.class);

  private final Log log;

  /** The calls topic, as a reader finds it. */
  interface Log {
    /**
     * Whether there is a record between two offsets, the second excluded.
     *
     * @throws org.apache.kafka.common.KafkaException when the log does not answer
     */
    boolean holdsRecord(int partition, long fromOffset, long toOffset);
  }

  /**
   * Refuses what the log says was skipped.
   *
   * @param log asked at each gap, from the thread that met it
   */
  SkippedOffsets(Log log) {
    this.log = log;
  }

  /**
   * Looks at the next record.
   *
   * @param expectedOffset the offset behind the last record counted; negative when there is none
   * @throws StreamsException when there are records between, which were skipped
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
