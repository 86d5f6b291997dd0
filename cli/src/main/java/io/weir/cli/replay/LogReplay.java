// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.CallBatch;
import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.TopicReader;
import io.weir.cli.records.UnreadableException;
import io.weir.cli.replay.ReplayReport.Finding;
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
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * Decides the calls of the log again. Reads from the beginning of the range, by the broker's clock,
 * to the end of the log, since a node may send calls late. Not thread-safe.
 */
final class LogReplay {
  /** Maximum time by which the broker's clock may be behind Redis' clock. */
  private static final Duration CLOCKS = Duration.ofMinutes(5);

  private final KafkaConnection kafka;
  private final CallReplay.Settings settings;
  private final PolicyVersions versions;

  private final Promises promises = new Promises();
  private final Map<Integer, Long> firstMillis = new HashMap<>();

  /** Number of records with a value that are neither batches nor cache-loss records. */
  private long strangeRecords;

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
    try (CallReplay replay = new CallReplay(settings, versions);
        TopicReader calls = TopicReader.ofClient(kafka, Topics.CALLS, settings.client())) {
      Map<Integer, Long> ends = calls.ends();
      long from = Math.max(0, settings.from().minus(CLOCKS).toEpochMilli());
      Map<Integer, Long> starts = calls.offsetsAt(from, ends);
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
        long place = finding.place();
        differences.add(
            replay.named(finding, calls.value(Row.partition(place), Row.offset(place))));
      }
      return new ReplayReport(
          tally, differences, unproven(calls.begins(), starts, tally.unreadable));
    }
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
            addExpired(partition, unproven);
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

  /** Adds a sentence if calls of the range may have expired in a partition. */
  private void addExpired(int partition, List<String> unproven) {
    Long first = firstMillis.get(partition);
    if (first == null) {
      unproven.add("partition " + partition + " is empty: its calls have expired");
    } else if (first > settings.from().toEpochMilli()) {
      unproven.add(
          "partition %d begins at %s: earlier calls have expired"
              .formatted(partition, Instant.ofEpochMilli(first)));
    }
  }
}
