// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.table.Freshness;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The report {@code /v1/usage} of clients whose partitions are on this instance. Thread-safe. */
final class UsageReports {
  private final UsageTable table;
  private final ProgressSignal signal;
  private final ReportSettings settings;
  private final ReportTurns turns;
  private final Clock clock;

  UsageReports(
      UsageTable table,
      ProgressSignal signal,
      ReportSettings settings,
      ReportTurns turns,
      Clock clock) {
    this.table = table;
    this.signal = signal;
    this.settings = settings;
    this.turns = turns;
    this.clock = clock;
  }

  /**
   * Returns the response for a client whose partition is on this instance.
   *
   * @param positions value of the header {@code Usage-Position}, which contains the positions that
   *     the report must include; null if the request has none
   * @param mediaType media type of the response
   * @param caller the caller, for the fair scheduling of reports
   */
  Answer answer(UsageQuery query, @Nullable String positions, String mediaType, ReportCaller caller)
      throws InterruptedException {
    int partition = ClientPartitioner.partition(query.client(), settings.partitions());
    Freshness freshness = table.refresh(partition);
    Instant now = clock.instant();
    if (freshness != Freshness.UP_TO_DATE && !mediaType.equals(Answer.JSON)) {
      throw new ProblemException(
          ProblemReason.NOT_UP_TO_DATE,
          "Kafka is unavailable, so the report may be outdated; a report as JSON is available and shows whether it is up to date");
    }
    awaitPositions(partition, positions);
    awaitPage(partition, query.page());
    try (ReportTurns.Turn turn = turns.begin(caller)) {
      return compute(partition, query, mediaType, freshness, now, turn);
    }
  }

  private Answer compute(
      int partition,
      UsageQuery query,
      String mediaType,
      Freshness freshness,
      Instant now,
      ReportTurns.Turn turn) {
    PartitionProgress progress = table.progress(partition).orElse(null);
    UsageReport report = new UsageReport(query, settings.window(), progress);
    table.read(
        partition,
        new UsageKey(query.client(), query.meter(), "-"),
        query.readFrom().toEpochMilli(),
        query.readTo().toEpochMilli(),
        turn::readRow,
        report);
    List<UsageReport.Row> rows = report.rows();
    PageCursor next = null;
    if (rows.size() > query.limit()) {
      rows = rows.subList(0, query.limit());
      UsageReport.Row last = rows.get(rows.size() - 1);
      next =
          new PageCursor(
              query.from(),
              query.to(),
              progress == null ? -1 : progress.offset(),
              last.from(),
              last.place());
    }
    Map<String, Object> completeness = completeness(partition, progress, report, now);
    completeness.put("up_to_date", freshness == Freshness.UP_TO_DATE);
    byte[] body =
        switch (mediaType) {
          case Answer.CSV -> ReportFormats.csv(query, rows);
          case Answer.NDJSON -> ReportFormats.ndjson(query, rows);
          default -> ReportFormats.document(query, report, rows, completeness, next);
        };
    return new Answer(
        200, mediaType, body, position(partition, progress), next == null ? null : next.toString());
  }

  /**
   * Returns the completeness block of a report on one partition.
   *
   * @param progress progress of the partition; null if no record of the partition has been counted
   */
  private Map<String, Object> completeness(
      int partition, @Nullable PartitionProgress progress, UsageReport report, Instant now) {
    Map<String, Object> block = new LinkedHashMap<>();
    block.put("complete", report.isComplete());
    block.put(
        "closed_through",
        CompletenessReports.timeOrNull(progress == null ? 0 : progress.closedThroughEpochMillis()));
    block.put(
        "as_of",
        CompletenessReports.timeOrNull(progress == null ? 0 : progress.watermarkEpochMillis()));
    block.put("position", position(partition, progress));
    block.put("lag_ms", CompletenessReports.lag(progress, now));
    block.put("missing_partitions", List.of());
    block.put("late_until", report.to().plus(settings.lateness()).toString());
    return block;
  }

  /** Returns the position in a partition as {@code partition:offset}. */
  private static String position(int partition, @Nullable PartitionProgress progress) {
    return partition + ":" + (progress == null ? -1 : progress.offset());
  }

  private void awaitPage(int partition, @Nullable PageCursor page) throws InterruptedException {
    if (page != null) {
      String position = partition + ":" + page.offset();
      awaitPosition(position, () -> offset(partition) >= page.offset());
    }
  }

  private void awaitPosition(String position, BooleanSupplier isReached)
      throws InterruptedException {
    if (!signal.await(isReached, settings.positionWait())) {
      throw new ProblemException(
          Problem.ofField(
              ProblemReason.POSITION_NOT_REACHED,
              "Usage-Position",
              "contains the position " + position + ", which was not counted before the timeout"));
    }
  }

  private long offset(int partition) {
    return table.progress(partition).map(PartitionProgress::offset).orElse(-1L);
  }

  /**
   * Waits until the positions of this partition are counted. Other positions are ignored, because
   * the report contains no calls of other partitions.
   */
  private void awaitPositions(int partition, @Nullable String header) throws InterruptedException {
    for (UsagePosition position : parse(header)) {
      if (position.partition() == partition) {
        awaitPosition(position.toString(), () -> isReached(position));
      }
    }
  }

  private boolean isReached(UsagePosition position) {
    List<PartitionProgress.Node> ofNode =
        table.progress(position.partition()).stream()
            .flatMap(progress -> progress.nodes().stream())
            .filter(node -> node.node().equals(position.node()))
            .toList();
    boolean isKnown = ofNode.stream().anyMatch(node -> node.epoch() == position.nodeEpoch());
    // A journal that departed without a hole is no longer listed when newer epochs of its node are
    // listed.
    return isKnown
        ? ofNode.stream()
            .anyMatch(
                node -> node.epoch() == position.nodeEpoch() && node.lines() >= position.line())
        : ofNode.stream().anyMatch(node -> node.epoch() > position.nodeEpoch());
  }

  static List<UsagePosition> parse(@Nullable String header) {
    List<UsagePosition> positions = new ArrayList<>();
    if (header == null || header.isBlank()) {
      return positions;
    }
    for (String text : header.split(",", -1)) {
      UsagePosition position = UsagePosition.parse(text.strip());
      if (position == null) {
        throw new ProblemException(
            Problem.ofField(
                ProblemReason.INVALID_HEADER,
                "Usage-Position",
                "must be partition:node:epoch:line, but is '" + text + "'"));
      }
      positions.add(position);
    }
    return positions;
  }
}
