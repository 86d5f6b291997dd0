// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.ByteStore;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The numbers of endpoints with their own rows, by window, client and meter. The stored rows
 * determine these numbers. A row is never deleted while calls of its window may arrive. The counts
 * in memory only avoid reads of the stores. Not thread-safe.
 *
 * <p>When a window is first used, this class checks whether the stores contain a row of the window.
 * If not, {@link #added} later reports every row of the window. Then a count that is not in memory
 * is 0, so a client's first call in the window needs no read of the stores.
 */
final class EndpointRows {
  /**
   * Number of counts in memory above which {@link #trim} clears them. A count takes about 150
   * bytes, so all counts take at most 8 MB per partition.
   */
  static final int MAX_COUNTS_IN_MEMORY = 50_000;

  private static final int CHUNK_ROWS = 256;

  private final ByteStore open;
  private final ByteStore closed;
  private final int maxEndpoints;

  /** The known counts, by the key of the others row of the window, client and meter. */
  private final Map<RowKey, Integer> counts = new HashMap<>();

  /**
   * Whether all counts of a window are known, by the start of the window. The map contains only
   * windows that were used.
   */
  private final Map<Long, Boolean> windows = new HashMap<>();

  EndpointRows(ByteStore open, ByteStore closed, int maxEndpoints) {
    this.open = open;
    this.closed = closed;
    this.maxEndpoints = maxEndpoints;
  }

  /**
   * Returns whether another endpoint of a window, client and meter gets its own row.
   *
   * @param others the key of the others row of that window, client and meter
   */
  boolean hasRoom(RowKey others) {
    Integer known = counts.get(others);
    if (known != null) {
      return known < maxEndpoints;
    }
    if (isNew(others.windowStartEpochMillis())) {
      return true;
    }
    int read = read(others);
    counts.put(others, read);
    return read < maxEndpoints;
  }

  /** Adds a new endpoint with its own row. {@link #hasRoom} must have returned true for the row. */
  void added(RowKey own) {
    counts.merge(own.others(), 1, Integer::sum);
  }

  /** Clears the counts in memory if there are too many. The stores must contain every row. */
  void trim() {
    if (counts.size() >= MAX_COUNTS_IN_MEMORY || windows.size() >= MAX_COUNTS_IN_MEMORY) {
      counts.clear();
      windows.replaceAll((start, isNew) -> false);
      if (windows.size() >= MAX_COUNTS_IN_MEMORY) {
        windows.clear();
      }
    }
  }

  private boolean isNew(long windowStartEpochMillis) {
    return windows.computeIfAbsent(
        windowStartEpochMillis,
        start -> {
          byte[] from = RowKey.from(start);
          byte[] behind = RowKey.from(start + 1);
          // Closed rows are scanned first. A closed window has only deleted open rows, which are
          // slow to scan.
          return closed.scan(from, behind, 1).isEmpty() && open.scan(from, behind, 1).isEmpty();
        });
  }

  /**
   * Returns the number of rows in both stores, at most the maximum number of endpoints. Each row is
   * in only one store.
   */
  private int read(RowKey others) {
    int found = read(closed, others, maxEndpoints);
    return found < maxEndpoints ? found + read(open, others, maxEndpoints - found) : found;
  }

  private static int read(ByteStore store, RowKey others, int enough) {
    byte[] from = ByteStore.behind(others.toBytes());
    byte[] end = others.endOfMeter();
    int found = 0;
    List<ByteStore.Entry> chunk;
    do {
      chunk = store.scan(from, end, CHUNK_ROWS);
      found += chunk.size();
      if (!chunk.isEmpty()) {
        from = ByteStore.behind(chunk.get(chunk.size() - 1).key());
      }
    } while (chunk.size() == CHUNK_ROWS && found < enough);
    return found;
  }
}
