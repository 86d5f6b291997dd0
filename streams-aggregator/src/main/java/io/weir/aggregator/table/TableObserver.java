// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import org.jspecify.annotations.Nullable;

/**
 * Receives the changes of the table, to maintain data derived from it. Only the follower's thread
 * calls the methods. If the table cannot be written, the follower starts again, and each partition
 * ends and begins again.
 */
public interface TableObserver {
  /** An observer that ignores all changes. */
  TableObserver NONE =
      new TableObserver() {
        @Override
        public void begin(int partition) {}

        @Override
        public void end(int partition) {}

        @Override
        public void change(int partition, byte[] key, byte @Nullable [] value) {}

        @Override
        public boolean work(long maxNanos) {
          return false;
        }
      };

  /** Begins a partition whose rows are all in the table, read to the partition's end. */
  void begin(int partition);

  /** Ends a partition, which may not have begun. */
  void end(int partition);

  /**
   * Called before a row is changed, while the table still contains its old value; also for a
   * partition that has not begun. One write changes a row at most once.
   *
   * @param value the new value, possibly equal to the old one; null if the row is removed
   */
  void change(int partition, byte[] key, byte @Nullable [] value);

  /**
   * Does a step of background work.
   *
   * @param maxNanos approximate maximum duration
   * @return whether work remains
   */
  boolean work(long maxNanos);
}
