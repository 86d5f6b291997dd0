// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import org.jspecify.annotations.Nullable;

/**
 * An observer of the table's changes, which maintains data derived from the table. Only the
 * follower's thread calls the methods. If the table cannot be written, the follower restarts. The
 * follower then calls {@link #end} and {@link #begin} again for each partition.
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

  /** Called when the table contains all rows of a partition, up to the partition's end. */
  void begin(int partition);

  /**
   * Called before a partition is read, and when the partition is no longer followed. It is possible
   * that {@link #begin} was not called for the partition.
   */
  void end(int partition);

  /**
   * Called before a row is changed, while the table still contains the old value. It is possible
   * that {@link #begin} was not called for the partition. One write changes a row at most once.
   *
   * @param value the new value, which may be equal to the old value; null if the row is removed
   */
  void change(int partition, byte[] key, byte @Nullable [] value);

  /**
   * Does one step of background work.
   *
   * @param maxNanos approximate maximum duration
   * @return whether work remains
   */
  boolean work(long maxNanos);
}
