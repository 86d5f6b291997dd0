// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.BatchHeader;
import java.time.Duration;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Reads ranges of the calls topic. Thread-safe. */
interface AuditLog {
  /**
   * One record.
   *
   * @param offset its offset
   * @param atEpochMillis when the broker appended it
   * @param header the batch header of the record; null if it is not a batch
   * @param value its lines
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Entry(long offset, long atEpochMillis, @Nullable BatchHeader header, byte[] value) {}

  /** Why reading ended. */
  enum End {
    /** Everything that was in the log when reading began has been read. */
    LOG_END,
    /** The reader wanted no more records. */
    ENOUGH,
    /** The time limit was reached. */
    TIME_UP
  }

  /**
   * Where reading begins.
   *
   * @param offset offset of the first record; −1 to begin by time
   * @param atEpochMillis used if the offset is −1: reading begins with the first record that the
   *     broker appended at this time or later
   */
  record Start(long offset, long atEpochMillis) {}

  /**
   * Reads the committed records of a partition in order.
   *
   * @param reader receives each record; returns false to end reading
   * @param atMost longest time reading may take
   * @throws ProblemException if Kafka does not answer
   */
  End read(int partition, Start start, Predicate<Entry> reader, Duration atMost);
}
