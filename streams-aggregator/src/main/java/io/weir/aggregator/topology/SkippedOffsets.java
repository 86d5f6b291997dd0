// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.streams.errors.StreamsException;

/**
 * Refuses to go on behind records that were skipped. Safe for threads.
 *
 * <p>When a transaction cannot be committed, Kafka Streams 4.3.1 makes the task anew but leaves the
 * consumer where it stood: the records of the aborted transaction, and those that were fetched
 * already, are never taken. The next record shows it by its offset. The thread then dies before
 * anything is committed, and its successor begins at the offset that was committed last. Offsets
 * may also be missing for good (deleted by retention, markers of a producer's transaction): the
 * second time the same gap is met, it is accepted.
 */
final class SkippedOffsets {
  /** The last gap refused, by partition. */
  private final Map<Integer, Gap> refused = new ConcurrentHashMap<>();

  private record Gap(long expectedOffset, long offset) {}

  /**
   * Looks at the next record.
   *
   * @param expectedOffset the offset behind the last record counted; negative when there is none
   * @throws StreamsException when offsets between were skipped, the first time
   */
  void refuseOnce(int partition, long expectedOffset, long offset) {
    if (expectedOffset < 0 || offset <= expectedOffset) {
      return;
    }
    Gap gap = new Gap(expectedOffset, offset);
    if (!gap.equals(refused.put(partition, gap))) {
      throw new StreamsException(
          "records skipped partition="
              + partition
              + " expected_offset="
              + expectedOffset
              + " offset="
              + offset
              + "; the partition is read again from what was committed");
    }
  }
}
