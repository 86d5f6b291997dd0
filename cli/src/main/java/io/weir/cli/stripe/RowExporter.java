// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.cli.console.CommandFailedException;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageRow;
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
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/** Exports rows in batches, and records the results. Not thread-safe. */
final class RowExporter {
  /**
   * Age from which an event that may have been sent is not sent again. Stripe recognizes a repeated
   * identifier for at least 24 hours, less the time that a request may take.
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
   * Creates an exporter.
   *
   * @param kept the file of rows that cannot be sent
   * @param acceptsGap whether a recreated topic may lack rows
   */
  RowExporter(
      ExportState state,
      EventSender sender,
      RowJudge judge,
      Clock clock,
      Path kept,
      boolean acceptsGap,
      ExportReport report) {
    this.state = state;
    this.sender = sender;
    this.judge = judge;
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

  /** Exports the next records of the topic. */
  void exportRecords(List<ConsumerRecord<@Nullable String, byte @Nullable []>> records) {
    Batch batch = new Batch(false);
    for (ConsumerRecord<@Nullable String, byte @Nullable []> record : records) {
      byte[] value = record.value();
      if (value != null) {
        String place = record.topic() + "-" + record.partition() + "@" + record.offset();
        try {
          add(ExportedRow.of(value, place), batch);
        } catch (ExportedRow.NoRowException notARow) {
          report.skipped(place, notARow);
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
   * Adds a row. The known state of its event comes first, since the mapping and its age may have
   * changed since the first try.
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
   * @param resendsUncertain whether the user has checked that Stripe has none of the rows kept as
   *     UNCERTAIN; otherwise these are kept again
   */
  void exportKept(List<KeptRows.Line> lines, boolean resendsUncertain) {
    Batch batch = new Batch(true);
    for (KeptRows.Line line : lines) {
      if (line.row().row() instanceof UsageRow row) {
        if (state.isResent(row)) {
          batch.add(line.row(), REPEATED);
        } else if (line.isUncertain() && !resendsUncertain && !state.isSent(row.recordId())) {
          batch.add(line.row(), new RowJudge.Keep(RowJudge.Reason.UNCERTAIN, line.detail()));
        } else {
          forgetWhatAPersonHasSeen(line);
          add(line.row(), row, batch);
        }
      }
    }
    export(batch);
  }

  /**
   * Requires that an event was not tried after its row was kept, since the user has not checked
   * that try.
   */
  private void forgetWhatAPersonHasSeen(KeptRows.Line line) {
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
    KeptRows rows = new KeptRows(kept);
    batch.toKeep.forEach(
        (row, why) -> {
          rows.add(why, row, clock.instant());
          report.kept(row.place(), why);
        });
    batch.passed.forEach(report::passed);
    if (!report.isDryRun()) {
      state.keep(batch.toKeep);
      rows.flush(); // before the state marks these rows as completed
      state.commit();
    }
  }

  private void send(Batch batch) {
    Set<String> triedBefore = new HashSet<>(batch.recordIds());
    triedBefore.removeIf(id -> state.firstTried(id) == null);
    state.begin(batch.recordIds(), clock.instant());
    for (UsageRow row : batch.sentBefore) {
      noteSent(row, batch);
    }
    for (Map.Entry<MeterEvent, Stripe.Answer> each :
        sender.send(batch.toSend.keySet()).entrySet()) {
      MeterEvent event = each.getKey();
      if (each.getValue() instanceof Stripe.Refused refused) {
        if (refused.mayHave() || triedBefore.contains(event.identifier())) {
          keepUncertain(event, refused, batch);
        } else {
          batch.toKeep.put(
              batch.row(event), new RowJudge.Keep(RowJudge.Reason.REFUSED, refused.message()));
        }
      } else if (each.getValue() instanceof Stripe.Accepted accepted) {
        report.sent(accepted.before());
        if (accepted.before() && !triedBefore.contains(event.identifier())) {
          report.foreign();
        }
        if (batch.row(event).row() instanceof UsageRow row) {
          noteSent(row, batch);
        }
      }
    }
  }

  private void noteSent(UsageRow row, Batch batch) {
    if (batch.isOfKeptRows) {
      state.sentKept(row);
    }
  }

  /** Keeps a row that Stripe refuses now, but may have accepted at an earlier try. */
  private void keepUncertain(MeterEvent event, Stripe.Refused refused, Batch batch) {
    Instant tried = Objects.requireNonNull(state.firstTried(event.identifier()), "not begun");
    RowJudge.Keep keep = uncertain(event.identifier(), tried);
    state.uncertain(event.identifier());
    batch.toKeep.put(
        batch.row(event),
        new RowJudge.Keep(keep.reason(), keep.detail() + "; refused now: " + refused.message()));
  }
}
