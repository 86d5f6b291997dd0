// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.stripe;

import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageRow;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/** Exports rows, batch by batch, and notes what became of them. Not thread-safe. */
final class RowExporter {
  private static final RowJudge.Verdict REPEATED = new RowJudge.Pass(RowJudge.Why.REPEATED);

  private final ExportState state;
  private final Sender sender;
  private final RowJudge judge;
  private final Clock clock;
  private final Results results;

  /**
   * Where results go.
   *
   * @param kept the file of rows that cannot be sent
   * @param isDryRun whether nothing is to be sent and no file changed
   */
  record Results(Path kept, boolean isDryRun, ExportCounts counts, StripeExport.Watcher watcher) {}

  RowExporter(ExportState state, Sender sender, RowJudge judge, Clock clock, Results results) {
    this.state = state;
    this.sender = sender;
    this.judge = judge;
    this.clock = clock;
    this.results = results;
  }

  /** Exports the next records of the topic. */
  void exportRecords(List<ConsumerRecord<@Nullable String, byte @Nullable []>> records)
      throws ExportFailedException {
    ExportBatch batch = new ExportBatch(false);
    for (ConsumerRecord<@Nullable String, byte @Nullable []> record : records) {
      byte[] value = record.value();
      if (value != null) {
        String place = record.topic() + "-" + record.partition() + "@" + record.offset();
        add(ExportedRow.of(value, place), batch);
      }
      state.read(record.partition(), record.offset() + 1);
    }
    export(batch);
  }

  private void add(ExportedRow exported, ExportBatch batch) {
    if (exported.row() instanceof CloseRow close) {
      state.close(close);
    } else if (exported.row() instanceof UsageRow row) {
      batch.add(exported, state.take(row) ? judge.judge(row, clock.instant()) : REPEATED);
    }
  }

  /** Exports rows that were kept. */
  void exportKept(List<ExportedRow> rows) throws ExportFailedException {
    ExportBatch batch = new ExportBatch(true);
    for (ExportedRow exported : rows) {
      if (exported.row() instanceof UsageRow row) {
        batch.add(exported, state.takeKept(row) ? judge.judge(row, clock.instant()) : REPEATED);
      }
    }
    export(batch);
  }

  private void export(ExportBatch batch) throws ExportFailedException {
    ExportCounts counts = results.counts();
    if (results.isDryRun()) {
      for (MeterEvent event : batch.events()) {
        results.watcher().wouldSend(event.members());
        counts.sent(false);
      }
    } else {
      send(batch);
    }
    KeptRows kept = new KeptRows(results.kept());
    for (Map.Entry<ExportedRow, RowJudge.Keep> each : batch.toKeep().entrySet()) {
      RowJudge.Keep why = each.getValue();
      kept.add(why, each.getKey());
      counts.kept(why.reason());
      results.watcher().kept(why.reason().name(), why.detail(), each.getKey().place());
    }
    batch.passed().forEach(counts::passed);
    if (!results.isDryRun()) {
      kept.flush(); // before the state says that these rows are done with
      state.commit();
    }
  }

  private void send(ExportBatch batch) throws ExportFailedException {
    state.begin(batch.events(), clock.instant());
    Sender.Outcome outcome = sender.send(batch.events(), clock.instant());
    for (MeterEvent event : outcome.uncertain()) {
      batch.keep(
          event,
          RowJudge.Reason.UNCERTAIN,
          "may have been sent at "
              + state.firstTried(event)
              + ", and Stripe knows an event again for 24 hours only; look for "
              + event.identifier()
              + " there");
    }
    for (Map.Entry<MeterEvent, Stripe.Answer> each : outcome.answers().entrySet()) {
      if (each.getValue() instanceof Stripe.Refused refused) {
        batch.keep(each.getKey(), RowJudge.Reason.REFUSED, refused.message());
      } else if (each.getValue() instanceof Stripe.Accepted accepted) {
        results.counts().sent(accepted.before());
        if (batch.isOfKeptRows() && batch.row(each.getKey()).row() instanceof UsageRow row) {
          state.sentKept(row);
        }
      }
    }
  }
}
