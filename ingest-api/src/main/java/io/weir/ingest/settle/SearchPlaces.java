// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.HashMap;
import java.util.Map;

/** Limits the number of concurrent searches, in total and per client. Thread-safe. */
final class SearchPlaces {
  private final int all;
  private final int ofOneClient;
  private final Map<String, Integer> taken = new HashMap<>();
  private int takenByAll;

  /** The result of a request for a place. */
  enum Place {
    /** A place was free and is now taken. */
    TAKEN,
    /** The client is at its limit of places. */
    CLIENT_AT_LIMIT,
    /** All places are taken. */
    FULL
  }

  SearchPlaces(int all, int ofOneClient) {
    this.all = all;
    this.ofOneClient = ofOneClient;
  }

  /** Takes a place if one is free. The caller must later call {@link #leave} for a taken place. */
  synchronized Place take(String client) {
    if (taken.getOrDefault(client, 0) >= ofOneClient) {
      return Place.CLIENT_AT_LIMIT;
    }
    if (takenByAll >= all) {
      return Place.FULL;
    }
    takenByAll++;
    taken.merge(client, 1, Integer::sum);
    return Place.TAKEN;
  }

  /** Releases a place that was taken. */
  synchronized void leave(String client) {
    takenByAll--;
    taken.computeIfPresent(client, (name, count) -> count == 1 ? null : count - 1);
  }

  /** Returns the number of places taken. */
  synchronized int taken() {
    return takenByAll;
  }
}
