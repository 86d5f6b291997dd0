// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.CallBatch;
import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.TopicReader;
import io.weir.cli.records.UnreadableException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.wire.CacheLossCodec;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * Decides the calls of the log again. Reads from the beginning of the range, by the broker's clock,
 * to the end of the log, since a node may send calls late. Not thread-safe.
 */
final class LogReplay {
  /** Maximum time by which the broker's clock may be behind Redis' clock. */
  private static final Duration CLOCKS = Duration.ofMinutes(5);

  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final Duration POLL = Duration.ofMillis(500);

  private final KafkaConnection kafka;
  private final CallReplay.Settings settings;
  private final PolicyVersions versions;

  private final Promises promises = new Promises();
  private final Map<Integer, Long> firstMillis = new HashMap<>();

  /** Number of records with a value that are neither batches nor cache-loss records. */
  private long strangeRecords;

  /** Creates a replay of the log. */
  LogReplay(KafkaConnection kafka, CallReplay.Settings settings, PolicyVersions versions) {
    this.kafka = kafka;
    this.settings = settings;
    this.versions = versions;
  }

  /**
   * Reads the log and judges its calls.
   *
   * @throws IOException if the disk cannot hold the sorted rows
   */
  ReplayReport run(ReadProgress progress) throws IOException {
    try (KafkaConsumer<byte[], byte[]> seeking =
            kafka.consumer(
                Map.of(
                    ConsumerConfig.CLIENT_ID_CONFIG,
                    "weir-replay",
                    ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                    (int) TIMEOUT.toMillis(),
                    ConsumerConfig.MAX_POLL_RECORDS_CONFIG,
                    1));
        CallReplay replay = new CallReplay(settings, versions);
        TopicReader calls = TopicReader.ofClient(kafka, Topics.CALLS, settings.client())) {
      Map<Integer, Long> ends = calls.ends();
      Map<Integer, Long> starts = starts(seeking, ends);
      calls.skipTo(starts);
      long skipped = calls.size(starts);
      long size = calls.size(ends) - skipped;
      calls.read(
          ends,
          record -> add(replay, record),
          done -> progress.step("weir.calls.v1", done - skipped, size));
      ReplayTally tally = replay.finish(progress);
      List<ReplayReport.Difference> differences = new ArrayList<>();
      for (Finding finding : tally.findings()) {
        differences.add(replay.named(finding, batch(seeking, finding)));
      }
      return new ReplayReport(
          tally, differences, unproven(calls.begins(), starts, tally.unreadable));
    }
  }

  /** Returns, for each partition, the offset at which calls of the range may begin. */
  private Map<Integer, Long> starts(
      KafkaConsumer<byte[], byte[]> seeking, Map<Integer, Long> ends) {
    Map<TopicPartition, Long> times = new HashMap<>();
    long from = Math.max(0, settings.from().minus(CLOCKS).toEpochMilli());
    ends.keySet().forEach(p -> times.put(new TopicPartition(Topics.CALLS.name(), p), from));
    Map<Integer, Long> starts = new HashMap<>(ends);
    for (Map.Entry<TopicPartition, @Nullable OffsetAndTimestamp> found :
        seeking.offsetsForTimes(times).entrySet()) {
      OffsetAndTimestamp offset = found.getValue();
      if (offset != null) {
        starts.merge(found.getKey().partition(), offset.offset(), Math::min);
      }
    }
    return starts;
  }

  private void add(CallReplay replay, ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    firstMillis.putIfAbsent(record.partition(), record.timestamp());
    byte[] value = record.value() == null ? new byte[0] : record.value();
    try {
      CallBatch batch = CallBatch.of(record);
      if (CallBatch.text(record, "replay_of") == null) {
        promises.note(record.partition(), batch); // a replay repeats an old one
      }
      if (value.length > 0) {
        replay.add(record.partition(), record.offset(), value);
      }
    } catch (UnreadableException notABatch) {
      boolean isCacheLoss = CacheLossCodec.TYPE.equals(CallBatch.text(record, "weir-type"));
      strangeRecords += value.length > 0 && !isCacheLoss ? 1 : 0;
    }
  }

  private List<String> unproven(
      Map<Integer, Long> begins, Map<Integer, Long> starts, long unreadableLines) {
    List<String> unproven = new ArrayList<>();
    if (settings.to().isAfter(Instant.now())) {
      unproven.add("the range ends in the future");
    }
    begins.forEach(
        (partition, begin) -> {
          if (begin > 0 && starts.getOrDefault(partition, 0L) <= begin) {
            unproven.addAll(expired(partition));
          }
        });
    if (unreadableLines > 0) {
      unproven.add("unreadable lines may be calls of the range: " + unreadableLines);
    }
    if (strangeRecords > 0) {
      unproven.add("records that are not batches may have calls of the range: " + strangeRecords);
    }
    unproven.addAll(
        promises.unproven(settings.from().toEpochMilli(), settings.to().toEpochMilli()));
    return unproven;
  }

  /**
   * Returns a sentence if some calls of the range may have expired in a partition; otherwise an
   * empty list.
   */
  private List<String> expired(int partition) {
    Long first = firstMillis.get(partition);
    if (first == null) {
      return List.of("partition " + partition + " is empty: its calls have expired");
    }
    return first <= settings.from().toEpochMilli()
        ? List.of()
        : List.of(
            "partition %d begins at %s: earlier calls have expired"
                .formatted(partition, Instant.ofEpochMilli(first)));
  }

  private static byte @Nullable [] batch(KafkaConsumer<byte[], byte[]> seeking, Finding finding) {
    TopicPartition partition =
        new TopicPartition(Topics.CALLS.name(), Row.partition(finding.place()));
    seeking.assign(List.of(partition));
    seeking.seek(partition, Row.offset(finding.place()));
    long deadlineNanos = System.nanoTime() + TIMEOUT.toNanos();
    while (System.nanoTime() - deadlineNanos < 0) {
      for (ConsumerRecord<byte[], byte[]> record : seeking.poll(POLL)) {
        return record.offset() == Row.offset(finding.place()) ? record.value() : null;
      }
    }
    return null;
  }
}
