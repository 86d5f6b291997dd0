// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * The journals that the watermark may wait for, in ascending order of their trusted low watermarks.
 * Of each node, the watermark may wait only for the newest journal. The work per record is
 * logarithmic in the number of nodes. Not thread-safe.
 */
final class AwaitedJournals {
  /**
   * A journal and its place in the order.
   *
   * @param lowWatermarkEpochMillis a trusted low watermark of the journal
   */
  private record Awaited(NodeTrack track, long lowWatermarkEpochMillis) {
    String node() {
      return track.node();
    }
  }

  private final Map<String, Awaited> byNode = new HashMap<>();
  private final TreeSet<Awaited> order =
      new TreeSet<>(
          Comparator.comparingLong(Awaited::lowWatermarkEpochMillis).thenComparing(Awaited::node));

  /** Adds the newest journal of a node, and removes the node's other journal. */
  void put(NodeTrack newest) {
    remove(newest.node());
    add(new Awaited(newest, newest.lowWatermark(Long.MIN_VALUE)));
  }

  /** Removes the journal of a node, if there is one. */
  void remove(String node) {
    Awaited known = byNode.remove(node);
    if (known != null) {
      order.remove(known);
    }
  }

  private void add(Awaited awaited) {
    byNode.put(awaited.node(), awaited);
    order.add(awaited);
  }

  /**
   * Returns the least trusted low watermark of the live journals, or {@link Long#MAX_VALUE} if no
   * journal is live. Removes silent journals, because a journal remains silent until its next
   * record.
   *
   * @param holdUntil the least low watermark of a live journal; must never decrease
   */
  long least(long holdUntil) {
    while (!order.isEmpty()) {
      Awaited first = order.first();
      if (first.lowWatermarkEpochMillis() >= holdUntil) {
        return first.lowWatermarkEpochMillis();
      }
      remove(first.node());
      // the watermark no longer waits for the lines of holes before holdUntil
      long trusted = first.track().lowWatermark(holdUntil);
      if (trusted >= holdUntil) {
        add(new Awaited(first.track(), trusted));
      }
    }
    return Long.MAX_VALUE;
  }
}
