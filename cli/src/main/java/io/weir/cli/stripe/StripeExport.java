// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.cli.console.CommandFailedException;
import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * Exports the ledger to Stripe: each row is sent once, or kept in a file. The process may be killed
 * at any moment and run again. Not thread-safe.
 */
final class StripeExport {
  /** Maximum number of rows in a batch, which is sent before the next one is read. */
  private static final int MAX_BATCH = 100;

  private final Settings settings;
  private final Stripe stripe;
  private final ExportReport report;
  private final ReadProgress progress;

  /**
   * The parameters of an export.
   *
   * @param kafka the connection to Kafka
   * @param cluster id of the cluster
   * @param topicId id of the ledger topic (KIP-516)
   * @param state the file that records the sent rows
   * @param kept the file of rows that cannot be sent
   * @param since start of the earliest window to export; null to use the time in the state file
   * @param acceptsGap whether rows may be missing: they expired before they were read, or a
   *     recreated topic lacks them
   * @param parallel maximum number of concurrent calls of Stripe
   */
  record Settings(
      KafkaConnection kafka,
      String cluster,
      String topicId,
      Path state,
      Path kept,
      Mapping mapping,
      @Nullable Instant since,
      boolean acceptsGap,
      int parallel) {}

  /** Creates an export. */
  StripeExport(Settings settings, Stripe stripe, ExportReport report, ReadProgress progress) {
    this.settings = settings;
    this.stripe = stripe;
    this.report = report;
    this.progress = progress;
  }

  /**
   * Exports the rows of the topic from the end of the last export to the topic's current end.
   *
   * @param follow whether to continue with new rows until it must stop
   * @throws CommandFailedException if it cannot continue
   */
  void exportTopic(boolean follow, BooleanSupplier isStopAsked) {
    try (ExportState state = openState();
        EventSender sender = new EventSender(stripe, state, settings.parallel());
        TopicReader reader = new TopicReader(settings.kafka(), Topics.LEDGER)) {
      if (state.ofTopic(settings.topicId(), reader.partitionCount())) {
        report.warn(
            "the ledger topic was recreated: the export reads it from the beginning and skips rows"
                + " that were exported before");
      }
      requireNoGap(state.next(), reader.begins());
      Map<Integer, Long> ends = reader.ends();
      requireSameTopic(state.next(), ends);
      reader.skipTo(state.next());
      long size = reader.size(ends);
      long done = size - remaining(state.next(), ends, reader.begins());
      RowExporter exporter = exporter(state, sender);
      while (!isStopAsked.getAsBoolean() && (follow || !reader.hasReached(ends))) {
        List<ConsumerRecord<@Nullable String, byte @Nullable []>> records = nextRecords(reader);
        if (!records.isEmpty()) {
          exporter.exportRecords(records);
          done += records.size();
          progress.step("rows", done, Math.max(done, size));
        }
      }
    }
  }

  /**
   * Exports rows that were kept.
   *
   * @param resendsUncertain whether rows that were kept as UNCERTAIN are also sent
   * @throws CommandFailedException if it cannot continue
   */
  void exportKept(Path rows, boolean resendsUncertain) {
    try (ExportState state = openState();
        EventSender sender = new EventSender(stripe, state, settings.parallel())) {
      List<KeptRows.Line> all = KeptRows.read(rows);
      RowExporter exporter = exporter(state, sender);
      for (int from = 0; from < all.size(); from += MAX_BATCH) {
        int to = Math.min(all.size(), from + MAX_BATCH);
        exporter.exportKept(all.subList(from, to), resendsUncertain);
        progress.step("rows", to, all.size());
      }
    }
  }

  private RowExporter exporter(ExportState state, EventSender sender) {
    return new RowExporter(
        state,
        sender,
        new RowJudge(settings.mapping(), state.since()),
        Clock.systemUTC(),
        settings.kept(),
        settings.acceptsGap(),
        report);
  }

  private ExportState openState() {
    StateFile file = new StateFile(settings.state(), report.isDryRun());
    try {
      return ExportState.open(file, settings.cluster(), settings.since(), Instant.now());
    } catch (CommandFailedException failed) {
      file.close();
      throw failed;
    }
  }

  private void requireNoGap(Map<Integer, Long> next, Map<Integer, Long> begins) {
    for (Map.Entry<Integer, Long> each : new TreeMap<>(next).entrySet()) {
      long begin = begins.getOrDefault(each.getKey(), 0L);
      if (begin > each.getValue() && !settings.acceptsGap()) {
        throw new CommandFailedException(
            ("rows of partition %d expired before they were exported: the export is at offset %d,"
                    + " but the topic begins at %d; bill them from a usage report, then continue"
                    + " with --accept-gap")
                .formatted(each.getKey(), each.getValue(), begin));
      }
    }
  }

  /**
   * Requires that no partition is shorter than before. If a partition is shorter, a topic with the
   * same id has lost rows.
   */
  static void requireSameTopic(Map<Integer, Long> next, Map<Integer, Long> ends) {
    for (Map.Entry<Integer, Long> each : new TreeMap<>(next).entrySet()) {
      long end = ends.getOrDefault(each.getKey(), 0L);
      if (each.getValue() > end) {
        throw new CommandFailedException(
            ("partition %d of the ledger ends at offset %d, but --state has read it up to %d: the"
                    + " topic was recreated, or has lost rows. Start with a new --state, and"
                    + " set --since to the end of the last window whose rows were all sent")
                .formatted(each.getKey(), end, each.getValue()));
      }
    }
  }

  private static long remaining(
      Map<Integer, Long> next, Map<Integer, Long> ends, Map<Integer, Long> begins) {
    return ends.entrySet().stream()
        .mapToLong(
            end ->
                end.getValue()
                    - Math.max(
                        next.getOrDefault(end.getKey(), 0L), begins.getOrDefault(end.getKey(), 0L)))
        .sum();
  }

  private static List<ConsumerRecord<@Nullable String, byte @Nullable []>> nextRecords(
      TopicReader reader) {
    List<ConsumerRecord<@Nullable String, byte @Nullable []>> records = new ArrayList<>();
    int before;
    do {
      before = records.size();
      reader.follow(records::add);
    } while (records.size() > before && records.size() < MAX_BATCH);
    return records;
  }
}
