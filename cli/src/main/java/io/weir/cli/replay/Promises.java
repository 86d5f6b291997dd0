// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.topics.model.BatchHeader;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What nodes have promised of a range, so that it is known whose calls may be missing. */
final class Promises {
  /** By partition and node, each opening of a journal. Not thread-safe. */
  private final Map<Integer, Map<String, TreeMap<Long, Opening>>> partitions = new HashMap<>();

  /** What was heard of one opening of a journal. */
  private static final class Opening {
    private long lowWatermarkEpochMillis;
    private boolean hasDeparted;
  }

  /** Notes the header of a batch or a heartbeat that is no replay. */
  void note(int partition, BatchHeader header) {
    Opening opening =
        partitions
            .computeIfAbsent(partition, none -> new TreeMap<>())
            .computeIfAbsent(header.node(), none -> new TreeMap<>())
            .computeIfAbsent(header.nodeEpoch(), none -> new Opening());
    opening.lowWatermarkEpochMillis =
        Math.max(opening.lowWatermarkEpochMillis, header.lowWatermarkEpochMillis());
    opening.hasDeparted |= header.departing();
  }

  /**
   * Returns why calls of a range may be missing, a sentence for each node; none if they are not.
   *
   * @param fromEpochMillis the first moment of the range
   * @param toEpochMillis the first moment after it
   */
  List<String> unproven(long fromEpochMillis, long toEpochMillis) {
    Map<String, Long> silent = new TreeMap<>();
    Map<String, Long> lost = new TreeMap<>();
    for (Map<String, TreeMap<Long, Opening>> nodes : partitions.values()) {
      nodes.forEach(
          (node, openings) ->
              openings.forEach(
                  (epoch, opening) -> {
                    long promised = opening.lowWatermarkEpochMillis;
                    Long next = openings.higherKey(epoch);
                    if (opening.hasDeparted || promised >= toEpochMillis) {
                      return;
                    }
                    if (next == null) {
                      silent.merge(node, promised, Math::min);
                    } else if (next > fromEpochMillis) { // it decided nothing after that
                      lost.merge(node, promised, Math::min);
                    }
                  }));
    }
    List<String> unproven = new ArrayList<>();
    silent.forEach(
        (node, millis) ->
            unproven.add("node " + node + " may still bring calls " + decidedFrom(millis)));
    lost.forEach(
        (node, millis) ->
            unproven.add(
                "node "
                    + node
                    + " was opened again without a goodbye: calls "
                    + decidedFrom(millis)
                    + " may be lost"));
    return unproven;
  }

  private static String decidedFrom(long epochMillis) {
    return "decided at " + Instant.ofEpochMilli(epochMillis) + " or later";
  }
}
