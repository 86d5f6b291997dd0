// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.ByteStore;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts the endpoints that have rows of their own, by window, client and meter. The rows in the
 * stores are the truth, and a row is never deleted while calls of its window may come; the counts
 * in memory only save reading them. Not thread-safe.
 *
 * <p>A window in which the stores hold no row when it is first asked for gets all of its rows
 * through {@link #added}. Its absent counts are therefore 0, so that a client's first call in it
 * reads nothing.
 */
final class EndpointRows {
  /** Most counts kept between two records; at some 150 bytes each, 8 MB a partition. */
  static final int MAX_COUNTS_IN_MEMORY = 50_000;

  private static final int CHUNK_ROWS = 256;

  private final ByteStore open;
  private final ByteStore closed;
  private final int maxEndpoints;

  /** The counts that are known, by the key of the others of the same window, client and meter. */
  private final Map<RowKey, Integer> counts = new HashMap<>();

  /** Starts of windows that have been asked for; true if all of their counts are known. */
  private final Map<Long, Boolean> windows = new HashMap<>();

  EndpointRows(ByteStore open, ByteStore closed, int maxEndpoints) {
    this.open = open;
    this.closed = closed;
    this.maxEndpoints = maxEndpoints;
  }

  /**
   * Returns whether one more endpoint of a window, client and meter gets a row of its own.
   *
   * @param others the key of the others of that window, client and meter
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

  /** Notes that an endpoint has got a row of its own, after {@link #hasRoom} has allowed it. */
  void added(RowKey own) {
    counts.merge(own.others(), 1, Integer::sum);
  }

  /** Forgets what can be read again, if it is too much; every row must be in the stores. */
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
          // closed ones first: of a closed window every open row is deleted, and would be passed
          return closed.scan(from, behind, 1).isEmpty() && open.scan(from, behind, 1).isEmpty();
        });
  }

  /** Counts the rows in the stores, as far as the count matters; each row is in one of them. */
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
