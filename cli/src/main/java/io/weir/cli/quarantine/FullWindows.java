// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.UsageStateCodec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * Finds the lines that would be refused again because the sum of their window is at its maximum.
 * Each line is judged alone, so if only one of two lines fits, the other may be refused again. Not
 * thread-safe.
 */
final class FullWindows {
  /** The reason for which a line of a full window cannot be replayed. */
  static final String STAYS =
      "the sum of its window is at the maximum: settle other calls of that window at lower costs,"
          + " then replay the line";

  private static final String REFUSED_SO = "would pass " + CallEvent.MAX_QUANTITY;

  private final Map<Source, Line> lines = new HashMap<>();

  /**
   * The members of a line that decide whether the line fits into its window.
   *
   * @param units units that the line adds to the window's sum
   */
  private record Line(UsageKey key, long decidedAtEpochMillis, long units) {
    UsageKey others() {
      return UsageKey.others(key.client(), key.meter());
    }

    boolean isIn(UsageState state) {
      return state.window().startEpochMillis() <= decidedAtEpochMillis
          && decidedAtEpochMillis < state.window().endEpochMillis();
    }

    boolean fitsInto(long quantity) {
      return Math.abs(quantity + units) <= CallEvent.MAX_QUANTITY;
    }
  }

  /**
   * Records the newest refusal of a line or record.
   *
   * @param call the call in the line; null if the line has no call
   */
  void note(Source source, String reason, @Nullable CallEvent call) {
    if (call == null || !reason.contains(REFUSED_SO)) {
      lines.remove(source);
      return;
    }
    UsageKey key = new UsageKey(call.client(), call.meter(), call.endpoint());
    lines.put(source, new Line(key, call.decidedAtEpochMillis(), call.quantity()));
  }

  /**
   * Returns the lines that would be refused again according to the newest figures of their windows.
   */
  Set<Source> withoutRoom(KafkaConnection kafka, int partitions) {
    Map<UsageKey, List<Map.Entry<Source, Line>>> ofKeys =
        lines.entrySet().stream().collect(Collectors.groupingBy(line -> line.getValue().key()));
    Map<UsageKey, List<Map.Entry<Source, Line>>> ofOthers =
        lines.entrySet().stream().collect(Collectors.groupingBy(line -> line.getValue().others()));
    Set<Integer> wanted =
        ofKeys.keySet().stream()
            .map(key -> ClientPartitioner.partition(key.client(), partitions))
            .collect(Collectors.toSet());
    Map<Source, Boolean> own = new HashMap<>();
    Map<Source, Boolean> others = new HashMap<>();
    if (wanted.isEmpty()) {
      return Set.of();
    }
    try (TopicReader topic = new TopicReader(kafka, Topics.STATE, wanted::contains)) {
      topic.read(
          record -> {
            UsageState state = usage(record);
            if (state != null && state.key().others()) {
              judge(state, ofOthers.getOrDefault(state.key(), List.of()), others);
            } else if (state != null) {
              judge(state, ofKeys.getOrDefault(state.key(), List.of()), own);
            }
          });
    }
    others.putAll(own); // an endpoint with its own row is counted in that row
    return others.entrySet().stream()
        .filter(Map.Entry::getValue)
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  private static @Nullable UsageState usage(
      ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] value = record.value();
    String type = Refusal.text(record.headers(), BatchHeaderCodec.TYPE_HEADER);
    if (value == null || !type.equals(UsageStateCodec.TYPE)) {
      return null;
    }
    try {
      return UsageStateCodec.decode(value);
    } catch (MalformedRecordException reportedByVerify) {
      return null;
    }
  }

  /**
   * Judges lines by the newest figures of a row that may count the lines. The result for a line
   * replaces an earlier result.
   */
  private static void judge(
      UsageState state, List<Map.Entry<Source, Line>> lines, Map<Source, Boolean> full) {
    for (Map.Entry<Source, Line> each : lines) {
      if (each.getValue().isIn(state)) {
        full.put(each.getKey(), !each.getValue().fitsInto(state.count().quantity()));
      }
    }
  }
}
