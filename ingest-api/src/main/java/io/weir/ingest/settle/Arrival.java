// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.settle.PartitionReader.Spent;
import io.weir.topics.log.CallsReader.Slice;
import io.weir.topics.log.CallsRecord;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Waits until an expected record arrives in the calls topic. Other searches can use the Kafka
 * consumers during the wait.
 */
final class Arrival {
  /**
   * Maximum time to wait for a call that is not in the topic. A node that has answered a call may
   * keep the call in its journal for some tens of milliseconds.
   */
  static final Duration TIMEOUT = Duration.ofSeconds(2);

  /** The first pause between two reads; each further pause is twice as long. */
  private static final long FIRST_PAUSE_MILLIS = 20;

  /**
   * Maximum pause between two reads. The pause bounds the time until the search notices a new call.
   */
  private static final long MAX_PAUSE_MILLIS = 250;

  private Arrival() {}

  /**
   * Examines records as they arrive, until the expected record arrives or the timeout passes.
   *
   * @param from the first offset that was not examined
   * @param isIt returns whether a record is the expected record
   * @return false if the record did not arrive within the timeout
   */
  static boolean await(PartitionReader reader, long from, Predicate<CallsRecord> isIt)
      throws Spent, InterruptedException {
    long deadlineNanos = System.nanoTime() + TIMEOUT.toNanos();
    long offset = from;
    long pauseMillis = FIRST_PAUSE_MILLIS;
    while (true) {
      boolean isLast = System.nanoTime() - deadlineNanos > 0;
      long end = reader.end();
      while (offset < end) {
        Slice slice = reader.read(offset);
        if (slice.records().stream().anyMatch(isIt)) {
          return true;
        }
        offset = slice.next();
      }
      if (isLast) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(pauseMillis);
      pauseMillis = Math.min(MAX_PAUSE_MILLIS, 2 * pauseMillis);
    }
  }
}
