// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.net.URI;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
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
  private final Mapping mapping;
  private final Watcher watcher;
  private final ExportCounts counts = new ExportCounts();

  /**
   * The parameters of an export.
   *
   * @param kafka the connection to Kafka
   * @param cluster id of the cluster
   * @param topicId id of the ledger topic (KIP-516)
   * @param state the file that records the sent rows
   * @param kept the file of rows that cannot be sent
   * @param since start of the earliest window to export; null to use the time in the state file
   * @param follow whether to continue with new rows
   * @param isDryRun whether nothing is sent and no file changes
   * @param acceptsGap whether rows may be missing: they expired before they were read, or a
   *     recreated topic lacks them
   * @param target Stripe
   */
  public record Settings(
      KafkaConnection kafka,
      String cluster,
      String topicId,
      Path state,
      Path kept,
      @Nullable Instant since,
      boolean follow,
      boolean isDryRun,
      boolean acceptsGap,
      Target target) {}

  /**
   * The parameters of Stripe's API.
   *
   * @param url its address
   * @param key the secret key
   * @param parallel maximum number of concurrent calls
   * @param rate maximum number of calls a second
   * @param retryTimeout maximum time to retry an event
   */
  public record Target(URI url, String key, int parallel, int rate, Duration retryTimeout) {
    @Override
    public String toString() {
      return url.toString(); // without the key
    }
  }

  /** Receives the progress of an export. */
  public interface Watcher {
    /** An event that a dry run would send, as the members of its request. */
    void wouldSend(Map<String, String> event);

    /** A warning in one line. */
    void warn(String warning);

    /** A row is kept. */
    void kept(String reason, String detail, String place);

    /** A batch has ended. */
    void progress(long rowsDone, long rowsInAll);
  }

  /** Creates an export. */
  public StripeExport(Settings settings, Mapping mapping, Watcher watcher) {
    this.settings = settings;
    this.mapping = mapping;
    this.watcher = watcher;
  }

  /** Returns the counts so far. */
  public ExportCounts counts() {
    return counts;
  }

  /**
   * Exports the rows of the topic from the end of the last export to the topic's current end. With
   * {@code follow} it continues until it must stop.
   *
   * @throws ExportFailedException if it cannot continue
   */
  public void exportTopic(BooleanSupplier isStopAsked) throws ExportFailedException {
    try (ExportState state = openState();
        EventSender sender = sender(state);
        TopicReader reader = new TopicReader(settings.kafka(), Topics.LEDGER)) {
      if (state.ofTopic(settings.topicId(), reader.partitionCount())) {
        watcher.warn(
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
      while (!isStopAsked.getAsBoolean() && (settings.follow() || !reader.hasReached(ends))) {
        List<ConsumerRecord<@Nullable String, byte @Nullable []>> records = nextRecords(reader);
        if (!records.isEmpty()) {
          exporter.exportRecords(records);
          done += records.size();
          watcher.progress(done, Math.max(done, size));
        }
      }
    }
  }

  /**
   * Exports rows that were kept.
   *
   * @param resendsUncertain whether rows that were kept as UNCERTAIN are also sent
   * @throws ExportFailedException if it cannot continue
   */
  public void exportKept(Path rows, boolean resendsUncertain) throws ExportFailedException {
    try (ExportState state = openState();
        EventSender sender = sender(state)) {
      List<KeptRows.Line> all = KeptRows.read(rows);
      RowExporter exporter = exporter(state, sender);
      for (int from = 0; from < all.size(); from += MAX_BATCH) {
        int to = Math.min(all.size(), from + MAX_BATCH);
        exporter.exportKept(all.subList(from, to), resendsUncertain);
        watcher.progress(to, all.size());
      }
    }
  }

  private RowExporter exporter(ExportState state, EventSender sender) {
    return new RowExporter(
        state,
        sender,
        new RowJudge(mapping, state.since()),
        Clock.systemUTC(),
        new RowExporter.Results(
            settings.kept(), settings.isDryRun(), settings.acceptsGap(), counts, watcher));
  }

  private ExportState openState() throws ExportFailedException {
    StateFile file = new StateFile(settings.state(), settings.isDryRun());
    try {
      return ExportState.open(file, settings.cluster(), settings.since(), Instant.now());
    } catch (ExportFailedException failed) {
      file.close();
      throw failed;
    }
  }

  private EventSender sender(ExportState state) {
    Target target = settings.target();
    StripeApi api = new StripeApi(target.url(), target.key(), target.retryTimeout(), target.rate());
    return new EventSender(api, state, target.parallel());
  }

  private void requireNoGap(Map<Integer, Long> next, Map<Integer, Long> begins)
      throws ExportFailedException {
    for (Map.Entry<Integer, Long> each : new TreeMap<>(next).entrySet()) {
      long begin = begins.getOrDefault(each.getKey(), 0L);
      if (begin > each.getValue() && !settings.acceptsGap()) {
        throw new ExportFailedException(
            ("rows of partition %d expired before they were exported: the export is at offset %d,"
                    + " but the topic begins at %d; bill them from a usage report, then continue"
                    + " with --accept-gap")
                .formatted(each.getKey(), each.getValue(), begin));
      }
    }
  }

  /**
   * Requires that no partition is shorter than before. If it is, a topic with the same id has lost
   * rows.
   */
  static void requireSameTopic(Map<Integer, Long> next, Map<Integer, Long> ends)
      throws ExportFailedException {
    for (Map.Entry<Integer, Long> each : new TreeMap<>(next).entrySet()) {
      long end = ends.getOrDefault(each.getKey(), 0L);
      if (each.getValue() > end) {
        throw new ExportFailedException(
            ("partition %d of the ledger ends at offset %d, but --state has read it up to %d: the"
                    + " topic was recreated, or has lost rows. Start with a new --state, and with"
                    + " --since the time up to which everything was sent")
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
