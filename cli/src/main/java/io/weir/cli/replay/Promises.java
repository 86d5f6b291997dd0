// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.CallBatch;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The low watermarks that nodes have sent. They show which nodes may have calls of a range that are
 * missing. Not thread-safe.
 */
final class Promises {
  /** The openings of journals by partition, node and epoch. */
  private final Map<Integer, Map<String, TreeMap<Long, Opening>>> partitions = new HashMap<>();

  private static final class Opening {
    private long lowWatermarkEpochMillis;
    private boolean hasDeparted;
  }

  /** Records the header of a batch or a heartbeat that is not a replay. */
  void note(int partition, CallBatch header) {
    Opening opening =
        partitions
            .computeIfAbsent(partition, none -> new TreeMap<>())
            .computeIfAbsent(header.node(), none -> new TreeMap<>())
            .computeIfAbsent(header.epoch(), none -> new Opening());
    opening.lowWatermarkEpochMillis =
        Math.max(opening.lowWatermarkEpochMillis, header.lowWatermarkEpochMillis());
    opening.hasDeparted |= header.departing();
  }

  /**
   * Returns the reasons why calls of a range may be missing, one sentence for each node; empty if
   * no call may be missing.
   *
   * @param fromEpochMillis start of the range
   * @param toEpochMillis exclusive end of the range
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
                    } else if (next > fromEpochMillis) {
                      // the earlier epoch decided no call after that
                      lost.merge(node, promised, Math::min);
                    }
                  }));
    }
    List<String> unproven = new ArrayList<>();
    silent.forEach(
        (node, millis) ->
            unproven.add("node " + node + " may still send calls " + decidedFrom(millis)));
    lost.forEach(
        (node, millis) ->
            unproven.add(
                "node %s opened a new epoch without a final heartbeat: calls %s may be lost"
                    .formatted(node, decidedFrom(millis))));
    return unproven;
  }

  private static String decidedFrom(long epochMillis) {
    return "decided at " + Instant.ofEpochMilli(epochMillis) + " or later";
  }
}
