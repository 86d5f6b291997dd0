// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.PartitionProgress.Gap;
import io.weir.topics.model.PartitionProgress.Node;
import io.weir.topics.model.PartitionProgress.State;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Codec for the progress of counting in a partition, as JSON in wire version 1. Stateless and
 * thread-safe.
 */
public final class PartitionProgressCodec {
  /** The value of the header {@code weir-type} on a progress record. */
  public static final String TYPE = "progress";

  private PartitionProgressCodec() {}

  /**
   * Returns the record's key. The key begins with {@code @}, so it differs from the key of every
   * usage state, where {@code @} is percent-encoded.
   */
  public static String key(int partition) {
    return String.format(Locale.ROOT, "@progress/%05d", partition);
  }

  /** Returns the record's value. */
  public static byte[] encode(PartitionProgress progress) {
    return Json.object(
        json -> {
          json.writeNumberField("partition", progress.partition());
          json.writeNumberField("offset", progress.offset());
          json.writeNumberField("watermark_ms", progress.watermarkEpochMillis());
          json.writeNumberField("closed_through_ms", progress.closedThroughEpochMillis());
          json.writeNumberField("newest_promise_ms", progress.newestLowWatermarkEpochMillis());
          json.writeNumberField("received", progress.counters().received());
          json.writeNumberField("counted", progress.counters().counted());
          json.writeNumberField("duplicate", progress.counters().duplicate());
          json.writeNumberField("late_adjusted", progress.counters().lateAdjusted());
          json.writeNumberField("quarantined", progress.counters().quarantined());
          json.writeNumberField("id_conflicts", progress.idConflicts());
          if (progress.periodConflicts() > 0) {
            json.writeNumberField("period_conflicts", progress.periodConflicts());
          }
          if (progress.inOtherRows() > 0) {
            json.writeNumberField("in_other_rows", progress.inOtherRows());
            json.writeNumberField("max_endpoints", progress.maxEndpoints());
          }
          json.writeArrayFieldStart("nodes");
          for (Node node : progress.nodes()) {
            json.writeStartObject();
            json.writeStringField("node", node.node());
            json.writeNumberField("node_epoch", node.epoch());
            json.writeNumberField("lines", node.lines());
            json.writeNumberField("missing_lines", node.missingLines());
            json.writeNumberField("low_watermark_ms", node.lowWatermarkEpochMillis());
            json.writeStringField("state", node.state().name().toLowerCase(Locale.ROOT));
            json.writeEndObject();
          }
          json.writeEndArray();
          if (!progress.possibleGaps().isEmpty()) {
            json.writeArrayFieldStart("possible_gaps");
            for (Gap gap : progress.possibleGaps()) {
              json.writeStartObject();
              json.writeNumberField("from_ms", gap.fromEpochMillis());
              json.writeNumberField("until_ms", gap.untilEpochMillis());
              json.writeEndObject();
            }
            json.writeEndArray();
          }
        });
  }

  /**
   * Decodes a value.
   *
   * @throws MalformedRecordException if the bytes are not a progress record
   */
  public static PartitionProgress decode(byte[] bytes) throws MalformedRecordException {
    return Members.decode(bytes, "progress record", PartitionProgressCodec::progress);
  }

  private static PartitionProgress progress(Members record) throws MalformedRecordException {
    List<Node> nodes = new ArrayList<>();
    for (Members node : record.objects("nodes")) {
      nodes.add(
          new Node(
              node.text("node", ""),
              node.integer("node_epoch", 0),
              node.integer("lines", 0),
              node.integer("missing_lines", 0),
              node.integer("low_watermark_ms", 0),
              State.valueOf(node.text("state", "live").toUpperCase(Locale.ROOT))));
    }
    List<Gap> gaps = new ArrayList<>();
    for (Members gap : record.objects("possible_gaps")) {
      gaps.add(new Gap(gap.integer("from_ms"), gap.integer("until_ms")));
    }
    return new PartitionProgress(
        record.smallInteger("partition"),
        record.integer("offset"),
        record.integer("watermark_ms"),
        record.integer("closed_through_ms"),
        record.integer("newest_promise_ms"),
        new Counters(
            record.integer("received"),
            record.integer("counted"),
            record.integer("duplicate"),
            record.integer("late_adjusted"),
            record.integer("quarantined")),
        record.integer("id_conflicts"),
        record.integer("period_conflicts", 0),
        record.integer("in_other_rows", 0),
        record.integer("max_endpoints", 0),
        nodes,
        gaps);
  }
}
