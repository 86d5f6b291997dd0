// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.settle.PartitionReader.Spent;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** Waits for what is on its way into the log, without keeping others from reading. */
final class Arrival {
  /**
   * How long a call that is not there is waited for: another node may have answered it and hold it
   * in its journal for some tens of milliseconds.
   */
  static final Duration PATIENCE = Duration.ofSeconds(2);

  /** The first pause between two looks; each one is twice as long as the one before. */
  private static final long FIRST_PAUSE_MILLIS = 20;

  /** How late a call may be seen at most. */
  private static final long LONGEST_PAUSE_MILLIS = 250;

  private Arrival() {}

  /**
   * Looks at batches as they come.
   *
   * @param from the first offset that was not looked at
   * @param isIt whether a batch is what is waited for
   * @return false when it did not come in time
   */
  static boolean await(PartitionReader reader, long from, Predicate<Slice.Batch> isIt)
      throws Spent, InterruptedException {
    long deadlineNanos = System.nanoTime() + PATIENCE.toNanos();
    long offset = from;
    long pauseMillis = FIRST_PAUSE_MILLIS;
    while (true) {
      boolean isLast = System.nanoTime() - deadlineNanos > 0;
      long end = reader.end();
      while (offset < end) {
        Slice slice = reader.read(offset);
        if (slice.batches().stream().anyMatch(isIt)) {
          return true;
        }
        offset = slice.next();
      }
      if (isLast) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(pauseMillis);
      pauseMillis = Math.min(LONGEST_PAUSE_MILLIS, 2 * pauseMillis);
    }
  }
}
