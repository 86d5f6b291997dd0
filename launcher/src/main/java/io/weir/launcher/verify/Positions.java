// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import java.util.Map;
import java.util.TreeMap;

/** Positions of lines that were met, as runs. Not safe for threads. */
final class Positions {
  private final TreeMap<Long, Long> lastOfRun = new TreeMap<>();

  /** Whether a position was met. */
  boolean holds(long position) {
    Map.Entry<Long, Long> below = lastOfRun.floorEntry(position);
    return below != null && position <= below.getValue();
  }

  /** Notes a position; whether it was not met before. */
  boolean add(long position) {
    if (holds(position)) {
      return false;
    }
    Map.Entry<Long, Long> below = lastOfRun.floorEntry(position);
    long first = below != null && below.getValue() == position - 1 ? below.getKey() : position;
    Long behind = lastOfRun.remove(position + 1);
    lastOfRun.put(first, behind == null ? position : behind);
    return true;
  }
}
