// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import org.jspecify.annotations.Nullable;

/**
 * Follows what the table holds, to keep something that is computed from it. All methods are called
 * by the follower's thread alone. If the table cannot be written, following begins anew, and each
 * partition ends and begins again.
 */
public interface TableObserver {
  /** Observes nothing. */
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

  /** Begins with a partition that has been read to its end, and whose rows the table holds. */
  void begin(int partition);

  /** Ends with a partition; it may not have begun. */
  void end(int partition);

  /**
   * Called before a row is changed, also of a partition that has not begun: the table still holds
   * its old value. In one write a row is changed once.
   *
   * @param value the new value, which may be equal to the old one; null if the row is removed
   */
  void change(int partition, byte[] key, byte @Nullable [] value);

  /**
   * Does some work in the background.
   *
   * @param maxNanos about how long it may take
   * @return whether work is left
   */
  boolean work(long maxNanos);
}
