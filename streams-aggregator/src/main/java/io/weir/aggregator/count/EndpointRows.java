// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.ByteStore;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts the endpoints with their own rows, per window, client and meter. The stored rows are the
 * truth, and a row is never deleted while calls of its window may arrive. The counts in memory only
 * avoid reads. Not thread-safe.
 *
 * <p>If the stores have no row of a window at its first use, all its rows are added through {@link
 * #added}. Its absent counts are therefore 0, and a client's first call in it needs no read.
 */
final class EndpointRows {
  /**
   * Maximum number of counts kept between two records; at about 150 bytes each, 8 MB per partition.
   */
  static final int MAX_COUNTS_IN_MEMORY = 50_000;

  private static final int CHUNK_ROWS = 256;

  private final ByteStore open;
  private final ByteStore closed;
  private final int maxEndpoints;

  /** The known counts, by the key of the others row of the same window, client and meter. */
  private final Map<RowKey, Integer> counts = new HashMap<>();

  /** Starts of the windows used; true if all counts of the window are known. */
  private final Map<Long, Boolean> windows = new HashMap<>();

  EndpointRows(ByteStore open, ByteStore closed, int maxEndpoints) {
    this.open = open;
    this.closed = closed;
    this.maxEndpoints = maxEndpoints;
  }

  /**
   * Returns whether one more endpoint of a window, client and meter gets its own row.
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

  /** Counts a new endpoint with its own row, which {@link #hasRoom} has allowed. */
  void added(RowKey own) {
    counts.merge(own.others(), 1, Integer::sum);
  }

  /** Clears counts in memory if there are too many; every row must be in the stores. */
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
          // closed rows first: a closed window has only deleted open rows, which are slow to scan
          return closed.scan(from, behind, 1).isEmpty() && open.scan(from, behind, 1).isEmpty();
        });
  }

  /** Counts the rows in both stores, up to the maximum; each row is in one of them. */
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
