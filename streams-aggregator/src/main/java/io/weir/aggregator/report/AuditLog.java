// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.BatchHeader;
import java.time.Duration;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The calls topic, for reading a stretch of it. Safe for threads. */
interface AuditLog {
  /**
   * One record.
   *
   * @param offset its offset
   * @param atEpochMillis when the broker took it
   * @param header what its headers say; null when it is no batch
   * @param value its lines
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Entry(long offset, long atEpochMillis, @Nullable BatchHeader header, byte[] value) {}

  /** Why reading ended. */
  enum End {
    /** Everything that was there when reading began has been read. */
    LOG_END,
    /** The reader wanted no more. */
    ENOUGH,
    /** Time is up. */
    TIME_UP
  }

  /**
   * Where to begin.
   *
   * @param offset the first record; −1 to begin by time
   * @param atEpochMillis otherwise the first record that the broker took at this time or later
   */
  record Start(long offset, long atEpochMillis) {}

  /**
   * Reads the committed records of a partition in order.
   *
   * @param reader takes one; false when it wants no more
   * @param atMost how long at most
   * @throws ProblemException when Kafka does not answer
   */
  End read(int partition, Start start, Predicate<Entry> reader, Duration atMost);
}
