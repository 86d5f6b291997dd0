// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import org.jspecify.annotations.Nullable;

/** Writes rows into a table as its follower does. */
public final class TableWrites {
  private TableWrites() {}

  /** Notifies an observer of a row, then writes the row; a null value removes it. */
  public static void write(
      TableStore store,
      TableObserver observer,
      int partition,
      byte[] key,
      byte @Nullable [] value) {
    try (TableStore.Changes changes = store.changes()) {
      observer.change(partition, key, value);
      changes.put(partition, key, value);
      changes.write();
    }
  }
}
