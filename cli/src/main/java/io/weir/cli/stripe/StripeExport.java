// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.cli.console.CommandFailedException;
import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.TopicReader;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * Exports the ledger to Stripe in batches: each row is sent once, or kept in a file. The process
 * may be killed at any moment and run again. Not thread-safe.
 */
final class StripeExport {
  /** Maximum number of rows in a batch, which is sent before the next one is read. */
  static final int MAX_BATCH = 100;

  /**
   * Age from which the export does not send an event again that it may have sent. Stripe recognizes
   * a repeated identifier for at least 24 hours. The hour less allows for the duration of a
   * request.
   */
  private static final Duration CERTAIN = Duration.ofHours(23);

  private static final RowJudge.Verdict REPEATED = new RowJudge.Pass(RowJudge.Why.REPEATED);

  private final ExportState state;
  private final EventSender sender;
  private final RowJudge judge;
  private final Clock clock;
  private final Path kept;
  private final boolean acceptsGap;
  private final ExportReport report;

  /**
   * Creates an export.
   *
   * @param kept the file of rows that cannot be sent
   * @param acceptsGap whether rows may be missing: they expired before they were read, or a
   *     recreated topic lacks them
   */
  StripeExport(
      ExportState state,
      EventSender sender,
      Mapping mapping,
      Clock clock,
      Path kept,
      boolean acceptsGap,
      ExportReport report) {
    this.state = state;
    this.sender = sender;
    this.judge = new RowJudge(mapping, state.since());
    this.clock = clock;
    this.kept = kept;
    this.acceptsGap = acceptsGap;
    this.report = report;
  }

  /** The rows of one batch, and the result of each row. */
  private static final class Batch {
    /** Whether its rows come from a file of kept rows, not from the topic. */
    private final boolean isOfKeptRows;

    private final Map<MeterEvent, ExportedRow> toSend = new LinkedHashMap<>();

    /** Rows whose events Stripe has, although the batch that sent them did not end. */
    private final Set<UsageRow> sentBefore = new LinkedHashSet<>();

    private final Map<ExportedRow, RowJudge.Keep> toKeep = new LinkedHashMap<>();

    /** Why rows are skipped, one entry for each row. */
    private final List<RowJudge.Why> passed = new ArrayList<>();

    Batch(boolean isOfKeptRows) {
      this.isOfKeptRows = isOfKeptRows;
    }

    void add(ExportedRow row, RowJudge.Verdict verdict) {
      if (verdict instanceof RowJudge.Send send) {
        toSend.put(send.event(), row);
      } else if (verdict instanceof RowJudge.Keep keep) {
        toKeep.put(row, keep);
      } else if (verdict instanceof RowJudge.Pass pass) {
        passed.add(pass.why());
      }
    }

    ExportedRow row(MeterEvent event) {
      return Objects.requireNonNull(toSend.get(event), "not of this batch");
    }

    /** Returns the ids of the rows that are completed when the batch ends. */
    Set<String> recordIds() {
      Set<String> ids = new LinkedHashSet<>();
      sentBefore.forEach(row -> ids.add(row.recordId()));
      toSend.keySet().forEach(event -> ids.add(event.identifier()));
      return ids;
    }
  }

  /**
   * Exports the rows of the topic from the end of the last export to the topic's current end.
   *
   * @param follow whether to continue with new rows until {@code isStopAsked} returns true
   * @throws CommandFailedException if it cannot continue
   */
  void exportTopic(
      TopicReader reader, boolean follow, BooleanSupplier isStopAsked, ReadProgress progress) {
    requireNotExpired(state.next(), reader.begins());
    Map<Integer, Long> ends = reader.ends();
    requireSameTopic(state.next(), ends);
    reader.skipTo(state.next());
    long size = reader.size(ends);
    long done = reader.size(state.next());
    while (!isStopAsked.getAsBoolean() && (follow || !reader.hasReached(ends))) {
      List<ConsumerRecord<@Nullable String, byte @Nullable []>> records = nextRecords(reader);
      if (!records.isEmpty()) {
        exportRecords(records);
        done += records.size();
        progress.step("rows", done, Math.max(done, size));
      }
    }
  }

  private void requireNotExpired(Map<Integer, Long> next, Map<Integer, Long> begins) {
    for (Map.Entry<Integer, Long> each : new TreeMap<>(next).entrySet()) {
      long begin = begins.getOrDefault(each.getKey(), 0L);
      if (begin > each.getValue() && !acceptsGap) {
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

  /** Exports the next records of the topic. */
  void exportRecords(List<ConsumerRecord<@Nullable String, byte @Nullable []>> records) {
    Batch batch = new Batch(false);
    for (ConsumerRecord<@Nullable String, byte @Nullable []> record : records) {
      byte[] value = record.value();
      if (value != null) {
        String place = record.topic() + "-" + record.partition() + "@" + record.offset();
        try {
          add(ExportedRow.of(value, place), batch);
        } catch (MalformedRecordException notARow) {
          report.skipped(place + " is skipped: " + notARow.getMessage());
        }
      }
      state.read(record.partition(), record.offset() + 1);
    }
    export(batch);
  }

  private void add(ExportedRow exported, Batch batch) {
    if (exported.row() instanceof CloseRow close) {
      requireNoGap(close);
      state.close(close);
    } else if (exported.row() instanceof UsageRow row) {
      if (state.take(row)) {
        add(exported, row, batch);
      } else {
        batch.add(exported, REPEATED);
      }
    }
  }

  private void requireNoGap(CloseRow close) {
    String gap = state.gapBefore(close);
    if (gap != null && !acceptsGap) {
      throw new CommandFailedException(
          ("rows may be missing in partition %d of the recreated ledger: its first CLOSE row is of"
                  + " %s, %s. Recreate the topic again and reset the aggregators, which then write"
                  + " all rows again (docs/operate/recovery.md, \"The ledger topic is lost\"). If"
                  + " the calls have expired, bill that time from a usage report, then continue"
                  + " with --accept-gap")
              .formatted(
                  close.inputPartition(),
                  Instant.ofEpochMilli(close.closedThroughEpochMillis()),
                  gap));
    }
  }

  /**
   * Adds a row. The recorded state of its event comes first, because the mapping and the row's age
   * may have changed since the first attempt.
   */
  private void add(ExportedRow exported, UsageRow row, Batch batch) {
    Instant now = clock.instant();
    Instant tried = state.firstTried(row.recordId());
    RowJudge.Verdict verdict = judge.judge(row, now);
    RowJudge.Reason kept = batch.isOfKeptRows ? null : state.kept(row.recordId());
    boolean isToSend = verdict instanceof RowJudge.Send && kept == null;
    if (state.isSent(row.recordId())) {
      batch.sentBefore.add(row);
    } else if (tried != null && (!isToSend || tried.isBefore(now.minus(CERTAIN)))) {
      batch.add(exported, uncertain(row.recordId(), tried));
    } else if (kept != null && verdict instanceof RowJudge.Send) {
      batch.add(
          exported,
          new RowJudge.Keep(kept, "an earlier run wrote this row to --kept; --rows sends it"));
    } else if (isToSend && !batch.isOfKeptRows && ExportState.isForgotten(row, now)) {
      batch.add(exported, forgotten(row.recordId()));
    } else {
      batch.add(exported, verdict);
    }
  }

  private static RowJudge.Keep uncertain(String recordId, Instant tried) {
    return new RowJudge.Keep(
        RowJudge.Reason.UNCERTAIN,
        ("may have been sent at %s, and Stripe recognizes a repeated event only for 24 hours; look"
                + " for %s there")
            .formatted(tried, recordId));
  }

  private static RowJudge.Keep forgotten(String recordId) {
    return new RowJudge.Keep(
        RowJudge.Reason.UNCERTAIN,
        ("its window ended more than %d days ago, and --state no longer records whether it was"
                + " sent;"
                + " look for %s in Stripe")
            .formatted(ExportState.MEMORY.toDays(), recordId));
  }

  /**
   * Exports rows that were kept.
   *
   * @param rows the file of the rows
   * @param resendsUncertain whether the user has checked that Stripe has none of the rows kept as
   *     UNCERTAIN; otherwise these are kept again
   * @throws CommandFailedException if it cannot continue
   */
  void exportKept(Path rows, boolean resendsUncertain, ReadProgress progress) {
    List<KeptRows.Line> all = KeptRows.read(rows);
    for (int from = 0; from < all.size(); from += MAX_BATCH) {
      int to = Math.min(all.size(), from + MAX_BATCH);
      exportKept(all.subList(from, to), resendsUncertain);
      progress.step("rows", to, all.size());
    }
  }

  private void exportKept(List<KeptRows.Line> lines, boolean resendsUncertain) {
    Batch batch = new Batch(true);
    for (KeptRows.Line line : lines) {
      if (line.row().row() instanceof UsageRow row) {
        if (state.isResent(row)) {
          batch.add(line.row(), REPEATED);
        } else if (line.isUncertain() && !resendsUncertain && !state.isSent(row.recordId())) {
          batch.add(line.row(), new RowJudge.Keep(RowJudge.Reason.UNCERTAIN, line.detail()));
        } else {
          forgetCheckedAttempts(line);
          add(line.row(), row, batch);
        }
      }
    }
    export(batch);
  }

  /**
   * Removes the attempts to send an event that the user has checked: those before the row was kept
   * as UNCERTAIN.
   */
  private void forgetCheckedAttempts(KeptRows.Line line) {
    String id = line.row().row().recordId();
    Instant tried = state.firstTried(id);
    if (line.isUncertain() && tried != null && !tried.isAfter(line.keptAt())) {
      state.forgetTried(id);
    }
  }

  private void export(Batch batch) {
    batch.sentBefore.forEach(row -> report.sent(true));
    if (report.isDryRun()) {
      batch.toSend.keySet().forEach(report::wouldSend);
    } else {
      send(batch);
    }
    batch.toKeep.forEach((row, why) -> report.kept(row.place(), why));
    batch.passed.forEach(report::passed);
    if (!report.isDryRun()) {
      if (!batch.isOfKeptRows) {
        state.keep(batch.toKeep);
      }
      // before the state marks these rows as completed
      KeptRows.append(kept, batch.toKeep, clock.instant());
      state.commit();
    }
  }

  private void send(Batch batch) {
    Set<String> triedBefore = new HashSet<>(batch.recordIds());
    triedBefore.removeIf(id -> state.firstTried(id) == null);
    state.begin(batch.recordIds(), clock.instant());
    for (UsageRow row : batch.sentBefore) {
      // --rows may have sent a row that the topic has too, and broken off
      if (batch.isOfKeptRows || state.kept(row.recordId()) != null) {
        state.sentKept(row);
      }
    }
    for (Map.Entry<MeterEvent, Stripe.Answer> each :
        sender.send(batch.toSend.keySet()).entrySet()) {
      MeterEvent event = each.getKey();
      boolean isTried = triedBefore.contains(event.identifier());
      if (each.getValue() instanceof Stripe.Refused refused) {
        batch.toKeep.put(batch.row(event), refusal(event, refused, isTried));
      } else if (each.getValue() instanceof Stripe.Accepted accepted) {
        report.sent(accepted.before());
        if (accepted.before() && !isTried) {
          report.foreign();
        }
        if (batch.isOfKeptRows && batch.row(event).row() instanceof UsageRow row) {
          state.sentKept(row);
        }
      }
    }
  }

  /**
   * Returns why a refused row is kept. The reason is UNCERTAIN if Stripe may have accepted the
   * event at an earlier attempt.
   */
  private RowJudge.Keep refusal(MeterEvent event, Stripe.Refused refused, boolean isTried) {
    if (!refused.mayHave() && !isTried) {
      return new RowJudge.Keep(RowJudge.Reason.REFUSED, refused.message());
    }
    Instant tried = Objects.requireNonNull(state.firstTried(event.identifier()), "not begun");
    state.uncertain(event.identifier());
    RowJudge.Keep keep = uncertain(event.identifier(), tried);
    return new RowJudge.Keep(keep.reason(), keep.detail() + "; refused now: " + refused.message());
  }
}
