// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.aggregator.table.Freshness;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Gap;
import io.weir.topics.model.PartitionProgress.Node;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The report {@code /v1/completeness}, which shows the progress of all partitions. It queries other
 * aggregators for their partitions. Thread-safe.
 */
final class CompletenessReports {
  static final String PATH = "/v1/completeness";

  private final AllPartitions partitions;

  CompletenessReports(AllPartitions partitions) {
    this.partitions = partitions;
  }

  /**
   * Returns the response to a request.
   *
   * @param caller the caller of the report; a forwarded request is not forwarded again
   */
  Answer answer(ReportCaller caller, Instant now) throws InterruptedException {
    Map<Integer, Object> found = new TreeMap<>();
    partitions.read(
        partitions.refresh(),
        (partition, freshness) -> {
          Map<String, Object> block =
              ofPartition(partition, partitions.table().progress(partition).orElse(null), now);
          block.put("up_to_date", freshness == Freshness.UP_TO_DATE);
          found.put(partition, block);
        });
    if (!caller.isForwarded()) {
      for (JsonNode other : partitions.queryOthers(found.keySet(), PATH, caller)) {
        for (JsonNode partition : other.path("partitions")) {
          found.putIfAbsent(partition.path("partition").asInt(), partition);
        }
      }
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("as_of", now.truncatedTo(ChronoUnit.MILLIS).toString());
    document.put("partitions", found.values());
    document.put(
        "missing_partitions",
        caller.isForwarded() ? List.of() : partitions.missing(found.keySet()));
    return Answer.json(200, document);
  }

  /** Returns the entry of one partition in {@code /v1/completeness}. */
  private static Map<String, Object> ofPartition(
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
          "possible_gaps",
          progress.possibleGaps().stream().map(CompletenessReports::ofGap).toList());
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

  /**
   * Returns the age of the watermark in milliseconds. Returns null before the first low watermark
   * of a node.
   */
  static @Nullable Long lag(@Nullable PartitionProgress progress, Instant now) {
    return progress == null || progress.watermarkEpochMillis() == 0
        ? null
        : Math.max(0, now.toEpochMilli() - progress.watermarkEpochMillis());
  }

  static @Nullable String timeOrNull(long epochMillis) {
    return epochMillis == 0 ? null : Instant.ofEpochMilli(epochMillis).toString();
  }
}
