// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.count.CountSettings;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Node;
import io.weir.topics.model.PartitionProgress.State;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.process.FairTurns;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The report that lists a client's decisions from the audit log, with the ledger row of each
 * decision. Thread-safe.
 */
final class EventReports {
  /**
   * Maximum duration of the read for one page. After this time, the page ends at the last record
   * that was read.
   */
  static final Duration MAX_TIME = Duration.ofSeconds(5);

  /**
   * Maximum number of concurrent reads. Each read needs memory for a few records of up to 4 MiB.
   */
  private static final int MAX_READINGS = 4;

  private static final Duration MAX_QUEUEING = Duration.ofSeconds(2);

  private final UsageTable table;
  private final AuditLog log;
  private final ReportSettings settings;
  private final FairTurns readings = new FairTurns(MAX_READINGS, MAX_READINGS - 1);

  EventReports(UsageTable table, ReportSettings settings) {
    this.table = table;
    this.log = new AuditLog(settings.kafka());
    this.settings = settings;
  }

  /** Returns the response for a client whose partition is on this instance. */
  Answer answer(int partition, EventQuery query, ReportCaller caller) throws InterruptedException {
    table.refresh(partition);
    PartitionProgress progress = table.progress(partition).orElse(null);
    EventScan scan = scan(query, progress);
    EventCursor page = query.page();
    if (!readings.acquire(caller.name(), MAX_QUEUEING.toNanos(), caller.isGone())) {
      throw new ProblemException(
          ProblemReason.BUSY, "too many reads of the audit log are in progress; try again later");
    }
    try {
      boolean hasReachedEnd =
          log.read(
              partition,
              page == null ? -1 : page.offset(),
              query.fromEpochMillis() - CountSettings.MAX_AHEAD_MILLIS,
              record -> !caller.isGone().getAsBoolean() && scan.take(record),
              MAX_TIME);
      if (hasReachedEnd) {
        scan.logEnded();
      }
    } finally {
      readings.release(caller.name());
    }
    return Answer.json(200, document(partition, query, scan, progress));
  }

  /**
   * Creates a scan that waits for the low watermark of each journal that may contain calls of the
   * interval.
   */
  private static EventScan scan(EventQuery query, @Nullable PartitionProgress progress) {
    Set<BatchTrail.Journal> awaited = new HashSet<>();
    Set<BatchTrail.Journal> departed = new HashSet<>();
    boolean everyLowWatermarkPassed = progress != null;
    for (Node node : progress == null ? List.<Node>of() : progress.nodes()) {
      BatchTrail.Journal journal = new BatchTrail.Journal(node.node(), node.epoch());
      if (node.epoch() >= query.toEpochMillis()) {
        continue; // the journal was opened after the interval
      }
      if (node.lowWatermarkEpochMillis() >= query.toEpochMillis()) {
        awaited.add(journal);
      } else if (node.state() == State.DEPARTED) {
        departed.add(journal);
      } else {
        everyLowWatermarkPassed = false;
      }
    }
    return new EventScan(query, awaited, departed, everyLowWatermarkPassed, EventScan.MAX_BYTES);
  }

  private Map<String, Object> document(
      int partition, EventQuery query, EventScan scan, @Nullable PartitionProgress progress) {
    Map<UsageKey, Map<Long, Optional<UsageState>>> windows = new HashMap<>();
    List<Object> events = new ArrayList<>();
    for (EventScan.Found found : scan.found()) {
      Map<String, Object> members = EventFormat.decision(found.call());
      members.put("duplicate", found.repeated());
      members.put("id_conflict", found.conflicting());
      members.put("position", partition + ":" + found.offset() + ":" + found.line());
      members.put("ledger", ledger(partition, found, progress, windows));
      events.add(members);
    }
    EventCursor next = scan.next();
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("client", query.client());
    document.put("from", Instant.ofEpochMilli(query.fromEpochMillis()).toString());
    document.put("to", Instant.ofEpochMilli(query.toEpochMillis()).toString());
    document.put("data", events);
    document.put("complete", scan.complete());
    document.put(
        "scanned_through",
        scan.scannedThroughEpochMillis() == 0
            ? null
            : Instant.ofEpochMilli(scan.scannedThroughEpochMillis()).toString());
    document.put("has_more", next != null);
    if (next != null) {
      document.put("next_page", next.toString());
    }
    return document;
  }

  private Map<String, Object> ledger(
      int partition,
      EventScan.Found found,
      @Nullable PartitionProgress progress,
      Map<UsageKey, Map<Long, Optional<UsageState>>> windows) {
    CallEvent call = found.call();
    UsageKey key = new UsageKey(call.client(), call.meter(), call.endpoint());
    UsageWindow window =
        UsageWindow.holding(call.decidedAtEpochMillis(), settings.window().toMillis());
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("window", EventFormat.window(window));
    if (isQuarantined(found)) {
      members.put("status", "quarantined");
      return members;
    }
    if (progress == null || found.offset() > progress.offset()) {
      members.put("status", "pending");
      return members;
    }
    Optional<UsageState> row =
        windows
            .computeIfAbsent(key, none -> new HashMap<>())
            .computeIfAbsent(window.startEpochMillis(), start -> row(partition, key, start));
    if (row.isPresent() && row.get().key().others()) {
      members.put("others", true);
    }
    if (row.isEmpty() || row.get().status() == UsageState.Status.RUNNING) {
      members.put("status", "open");
      return members;
    }
    UsageState closed = row.get();
    members.put("status", closed.status().name().toLowerCase(Locale.ROOT));
    members.put("revision", closed.revision());
    members.put("record_id", UsageRow.recordId(closed.key(), closed.window(), closed.revision()));
    return members;
  }

  /**
   * Returns the row that contains the counted calls of a key. Returns the endpoint's own row if
   * that row exists, otherwise the others row.
   */
  private Optional<UsageState> row(int partition, UsageKey key, long startEpochMillis) {
    Optional<UsageState> own = table.window(partition, key, startEpochMillis);
    return own.isPresent()
        ? own
        : table.window(partition, UsageKey.others(key.client(), key.meter()), startEpochMillis);
  }

  /**
   * Returns whether the aggregator has quarantined the call because of its decision time. The
   * aggregator uses the same rule when it counts.
   */
  private boolean isQuarantined(EventScan.Found found) {
    long decidedAt = found.call().decidedAtEpochMillis();
    return decidedAt > found.atEpochMillis() + CountSettings.MAX_AHEAD_MILLIS
        || decidedAt < found.atEpochMillis() - settings.lateness().toMillis();
  }
}
