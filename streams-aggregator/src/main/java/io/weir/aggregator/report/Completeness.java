// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Gap;
import io.weir.topics.model.PartitionProgress.Node;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Functions that format the completeness of reports and partitions. Stateless. */
final class Completeness {
  private Completeness() {}

  /**
   * Returns the completeness block of a report on one partition.
   *
   * @param progress progress of the partition; null if no record of the partition has been counted
   * @param to end of the report
   * @param isComplete whether all windows of the report are closed and complete
   * @param lateness maximum lateness of calls
   */
  static Map<String, Object> ofReport(
      int partition,
      @Nullable PartitionProgress progress,
      Instant to,
      boolean isComplete,
      Duration lateness,
      Instant now) {
    Map<String, Object> block = new LinkedHashMap<>();
    block.put("complete", isComplete);
    block.put(
        "closed_through", timeOrNull(progress == null ? 0 : progress.closedThroughEpochMillis()));
    block.put("as_of", timeOrNull(progress == null ? 0 : progress.watermarkEpochMillis()));
    block.put("position", position(partition, progress));
    block.put("lag_ms", lag(progress, now));
    block.put("missing_partitions", List.of());
    block.put("late_until", to.plus(lateness).toString());
    return block;
  }

  /** Returns the entry of one partition in {@code /v1/completeness}. */
  static Map<String, Object> ofPartition(
      int partition, @Nullable PartitionProgress progress, Instant now) {
    Map<String, Object> block = new LinkedHashMap<>();
    block.put("partition", partition);
    block.put("offset", progress == null ? -1 : progress.offset());
    block.put("watermark", timeOrNull(progress == null ? 0 : progress.watermarkEpochMillis()));
    block.put(
        "closed_through", timeOrNull(progress == null ? 0 : progress.closedThroughEpochMillis()));
    block.put("lag_ms", lag(progress, now));
    if (progress != null) {
      Map<String, Object> counters = new LinkedHashMap<>();
      counters.put("received", progress.counters().received());
      counters.put("counted", progress.counters().counted());
      counters.put("duplicate", progress.counters().duplicate());
      counters.put("late_adjusted", progress.counters().lateAdjusted());
      counters.put("quarantined", progress.counters().quarantined());
      block.put("counters", counters);
      block.put("id_conflicts", progress.idConflicts());
      block.put("period_conflicts", progress.periodConflicts());
      List<Map<String, Object>> nodes = new ArrayList<>();
      for (Node node : progress.nodes()) {
        nodes.add(ofNode(node));
      }
      block.put("nodes", nodes);
      block.put(
          "possible_gaps", progress.possibleGaps().stream().map(Completeness::ofGap).toList());
    }
    return block;
  }

  private static Map<String, Object> ofGap(Gap gap) {
    Map<String, Object> block = new LinkedHashMap<>();
    block.put("from", Instant.ofEpochMilli(gap.fromEpochMillis()).toString());
    block.put("until", Instant.ofEpochMilli(gap.untilEpochMillis()).toString());
    return block;
  }

  private static Map<String, Object> ofNode(Node node) {
    Map<String, Object> block = new LinkedHashMap<>();
    block.put("node", node.node());
    block.put("node_epoch", node.epoch());
    block.put("state", node.state().name().toLowerCase(Locale.ROOT));
    block.put("lines", node.lines());
    block.put("missing_lines", node.missingLines());
    block.put("low_watermark", timeOrNull(node.lowWatermarkEpochMillis()));
    return block;
  }

  /** Returns the position in a partition as {@code partition:offset}. */
  static String position(int partition, @Nullable PartitionProgress progress) {
    return partition + ":" + (progress == null ? -1 : progress.offset());
  }

  /**
   * Returns the age of the watermark in milliseconds. Returns null before the first low watermark
   * of a node.
   */
  private static @Nullable Long lag(@Nullable PartitionProgress progress, Instant now) {
    return progress == null || progress.watermarkEpochMillis() == 0
        ? null
        : Math.max(0, now.toEpochMilli() - progress.watermarkEpochMillis());
  }

  private static @Nullable String timeOrNull(long epochMillis) {
    return epochMillis == 0 ? null : Instant.ofEpochMilli(epochMillis).toString();
  }
}
