// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.HashMap;
import java.util.Map;

/** How many searches may be under way, in all and for one client. Safe for threads. */
final class SearchPlaces {
  private final int all;
  private final int ofOneClient;
  private final Map<String, Integer> taken = new HashMap<>();
  private int takenByAll;

  /** Whether there is a place. */
  enum Place {
    /** There is, and it is taken. */
    TAKEN,
    /** The client has as many as it may. */
    CLIENT_HAS_TOO_MANY,
    /** All are taken. */
    FULL
  }

  SearchPlaces(int all, int ofOneClient) {
    this.all = all;
    this.ofOneClient = ofOneClient;
  }

  /** Takes a place, which must be left. */
  synchronized Place take(String client) {
    if (taken.getOrDefault(client, 0) >= ofOneClient) {
      return Place.CLIENT_HAS_TOO_MANY;
    }
    if (takenByAll >= all) {
      return Place.FULL;
    }
    takenByAll++;
    taken.merge(client, 1, Integer::sum);
    return Place.TAKEN;
  }

  /** Leaves a place that was taken. */
  synchronized void leave(String client) {
    takenByAll--;
    taken.computeIfPresent(client, (name, count) -> count == 1 ? null : count - 1);
  }

  /** Places that are taken. */
  synchronized int taken() {
    return takenByAll;
  }
}
