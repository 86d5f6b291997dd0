// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.topics.model.UsageRow;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** The rows of one batch, and the result of each row. Not thread-safe. */
final class ExportBatch {
  private final boolean isOfKeptRows;
  private final Map<MeterEvent, ExportedRow> toSend = new LinkedHashMap<>();
  private final Set<UsageRow> sentBefore = new LinkedHashSet<>();
  private final Map<ExportedRow, RowJudge.Keep> toKeep = new LinkedHashMap<>();
  private final List<RowJudge.Why> passed = new ArrayList<>();

  /**
   * Creates an empty batch.
   *
   * @param isOfKeptRows whether its rows come from a file of kept rows, not from the topic
   */
  ExportBatch(boolean isOfKeptRows) {
    this.isOfKeptRows = isOfKeptRows;
  }

  /** Appends a row. */
  void add(ExportedRow row, RowJudge.Verdict verdict) {
    if (verdict instanceof RowJudge.Send send) {
      toSend.put(send.event(), row);
    } else if (verdict instanceof RowJudge.Keep keep) {
      toKeep.put(row, keep);
    } else if (verdict instanceof RowJudge.Pass pass) {
      passed.add(pass.why());
    }
  }

  /** Adds a row whose event Stripe has, although the batch that sent it did not end. */
  void addSent(UsageRow row) {
    sentBefore.add(row);
  }

  /** Returns the rows whose events Stripe has. */
  Set<UsageRow> sentBefore() {
    return sentBefore;
  }

  /** Returns the ids of the rows that are completed when the batch ends. */
  Set<String> recordIds() {
    Set<String> ids = new LinkedHashSet<>();
    sentBefore.forEach(row -> ids.add(row.recordId()));
    toSend.keySet().forEach(event -> ids.add(event.identifier()));
    return ids;
  }

  /** Keeps the row of an event that was to be sent. */
  void keep(MeterEvent event, RowJudge.Keep keep) {
    toKeep.put(row(event), keep);
  }

  /** Returns the row of an event. */
  ExportedRow row(MeterEvent event) {
    return Objects.requireNonNull(toSend.get(event), "not of this batch");
  }

  /** Returns the events to send, in the order of their rows. */
  Set<MeterEvent> events() {
    return toSend.keySet();
  }

  /** Returns the rows to keep. */
  Map<ExportedRow, RowJudge.Keep> toKeep() {
    return toKeep;
  }

  /** Returns why rows are skipped, one entry for each row. */
  List<RowJudge.Why> passed() {
    return passed;
  }

  boolean isOfKeptRows() {
    return isOfKeptRows;
  }
}
