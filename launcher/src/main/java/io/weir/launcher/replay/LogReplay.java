// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.replay;

import io.weir.launcher.verify.Progress;
import io.weir.launcher.verify.TopicReader;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topics;
import io.weir.topics.log.LogConsumer;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.jspecify.annotations.Nullable;

/**
 * Decides the calls of the log again. Reads from the time at which the range begins, by the
 * broker's clock, to the end of the log, since a node may bring calls late. Not thread-safe.
 */
public final class LogReplay {
  /** By how much the broker's clock may be behind that of the cache. */
  private static final Duration CLOCKS = Duration.ofMinutes(5);

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Duration POLL = Duration.ofMillis(500);

  private final String bootstrapServers;
  private final CallReplay.Settings settings;
  private final PolicyVersions versions;

  /** The least promise of each node, over the partitions, until it said goodbye. */
  private final Map<Integer, Map<String, BatchHeader>> promises = new HashMap<>();

  private final Map<Integer, Long> firstMillis = new HashMap<>();

  /** Creates a replay of a log. */
  public LogReplay(String bootstrapServers, CallReplay.Settings settings, PolicyVersions versions) {
    this.bootstrapServers = bootstrapServers;
    this.settings = settings;
    this.versions = versions;
  }

  /**
   * Reads the log and judges its calls.
   *
   * @throws IOException if the disk cannot hold the sorted rows
   */
  public ReplayReport run(Progress progress) throws IOException {
    try (KafkaConsumer<byte[], byte[]> seeking =
            LogConsumer.open(
                bootstrapServers,
                Map.of(
                    ConsumerConfig.CLIENT_ID_CONFIG,
                    "weir-replay",
                    ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                    (int) PATIENCE.toMillis(),
                    ConsumerConfig.MAX_POLL_RECORDS_CONFIG,
                    1));
        CallReplay replay = new CallReplay(settings, versions)) {
      int partitions = seeking.partitionsFor(Topics.CALLS.name()).size();
      String client = settings.client();
      IntPredicate wanted =
          p -> client == null || ClientPartitioner.partition(client, partitions) == p;
      try (TopicReader calls = new TopicReader(bootstrapServers, Topics.CALLS, wanted)) {
        Map<Integer, Long> ends = calls.ends();
        Map<Integer, Long> starts = starts(seeking, ends);
        calls.skipTo(starts);
        long skipped = calls.size(starts);
        long size = calls.size(ends) - skipped;
        calls.read(
            ends,
            record -> add(replay, record),
            done -> progress.step("weir.calls.v1", done - skipped, size));
        CallReplay.Outcome outcome =
            replay.finish((done, total) -> progress.step("deciding again", done, total));
        List<ReplayReport.Difference> differences = new ArrayList<>();
        for (Finding finding : outcome.tally().findings()) {
          differences.add(replay.named(finding, batch(seeking, finding)));
        }
        return outcome.report(differences, unproven(calls.begins(), starts));
      }
    }
  }

  /** Returns the offset in each partition at which calls of the range may begin. */
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
    BatchHeader header = header(record);
    byte[] value = record.value();
    if (header != null) {
      promises
          .computeIfAbsent(record.partition(), partition -> new TreeMap<>())
          .put(header.node(), header);
      if (value != null && value.length > 0) {
        replay.add(record.partition(), record.offset(), value);
      }
    }
  }

  /** Returns the header of a batch; null if the record is none, and has no calls. */
  private static @Nullable BatchHeader header(
      ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    try {
      return BatchHeaderCodec.decode(
          name -> {
            Header header = record.headers().lastHeader(name);
            return header == null ? null : header.value();
          });
    } catch (MalformedRecordException notABatch) {
      return null;
    }
  }

  private List<String> unproven(Map<Integer, Long> begins, Map<Integer, Long> starts) {
    List<String> unproven = new ArrayList<>();
    begins.forEach(
        (partition, begin) -> {
          long first = firstMillis.getOrDefault(partition, 0L);
          if (begin > 0
              && starts.getOrDefault(partition, 0L) <= begin
              && first > settings.from().toEpochMilli()) {
            unproven.add(
                "partition "
                    + partition
                    + " begins at "
                    + Instant.ofEpochMilli(first)
                    + ": what was before has expired");
          }
        });
    Map<String, Long> least = new TreeMap<>();
    promises
        .values()
        .forEach(
            nodes ->
                nodes.forEach(
                    (node, header) -> {
                      if (!header.departing()
                          && header.lowWatermarkEpochMillis() < settings.to().toEpochMilli()) {
                        least.merge(node, header.lowWatermarkEpochMillis(), Math::min);
                      }
                    }));
    least.forEach(
        (node, millis) ->
            unproven.add(
                "node "
                    + node
                    + " may still bring calls decided at "
                    + Instant.ofEpochMilli(millis)
                    + " or later"));
    return unproven;
  }

  private static byte @Nullable [] batch(KafkaConsumer<byte[], byte[]> seeking, Finding finding) {
    TopicPartition partition =
        new TopicPartition(Topics.CALLS.name(), Row.partition(finding.place()));
    seeking.assign(List.of(partition));
    seeking.seek(partition, Row.offset(finding.place()));
    long deadlineNanos = System.nanoTime() + PATIENCE.toNanos();
    while (System.nanoTime() - deadlineNanos < 0) {
      for (ConsumerRecord<byte[], byte[]> record : seeking.poll(POLL)) {
        return record.offset() == Row.offset(finding.place()) ? record.value() : null;
      }
    }
    return null;
  }
}
