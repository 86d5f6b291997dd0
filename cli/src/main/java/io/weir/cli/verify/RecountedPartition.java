// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallBatch;
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The result of the recount for one partition: the sums of its lines, its journals, the time from
 * which the log is complete, and the broker's clock. Not thread-safe.
 *
 * <p>The clock decides whether a call is too old or in the future. The broker's time is trusted
 * only within a bound after the latest time that any node published. The bound is the lesser of an
 * hour and a quarter of the lateness. After a node has published a time, the trusted time never
 * decreases.
 */
final class RecountedPartition {
  /** Maximum time by which a call may be ahead of the broker's clock. */
  static final long MAX_AHEAD_MILLIS = 5 * 60_000;

  private static final long HOUR_MILLIS = 3_600_000;

  /**
   * Maximum number of journals in a partition for exact results. Above this maximum, the aggregator
   * rounds.
   */
  private static final int MAX_EXACT_JOURNALS = 1_000;

  private static final int MAX_EXACT_RUNS = 64;

  /** Maximum time for which the aggregator keeps a journal after all its records have expired. */
  private static final long FORGOTTEN_AFTER_MILLIS = 2 * 86_400_000L;

  long received;
  long counted;
  long duplicate;
  long refused;

  private final long latenessMillis;
  private final long boundMillis;
  private long newestNodeEpochMillis;
  private long trustedEpochMillis;
  private long stampEpochMillis;
  private final Map<String, TreeMap<Long, JournalCoverage>> journals = new HashMap<>();
  private boolean beginsMidway;
  private long firstOffset;

  /** The broker's time of the first record of the log. */
  private long firstAtEpochMillis = Long.MIN_VALUE;

  RecountedPartition(long latenessMillis) {
    this.latenessMillis = latenessMillis;
    this.boundMillis = Math.min(HOUR_MILLIS, latenessMillis / 4);
  }

  /** Records the first record that is read. Later calls have no effect. */
  void beginsWith(long offset, long atEpochMillis) {
    if (firstAtEpochMillis == Long.MIN_VALUE) {
      firstAtEpochMillis = atEpochMillis;
      beginsMidway = offset > 0;
      firstOffset = offset;
    }
  }

  long firstOffset() {
    return firstOffset;
  }

  /** Records the broker's time of a record, and the time published by the node that wrote it. */
  void noteTime(long brokerEpochMillis, long nodeEpochMillis) {
    stampEpochMillis = brokerEpochMillis;
    if (nodeEpochMillis <= brokerEpochMillis + boundMillis) {
      newestNodeEpochMillis = Math.max(newestNodeEpochMillis, nodeEpochMillis);
    }
    trustedEpochMillis = Math.max(trustedEpochMillis, brokerEpochMillis);
    if (newestNodeEpochMillis > 0) {
      trustedEpochMillis = Math.min(trustedEpochMillis, newestNodeEpochMillis + boundMillis);
    }
  }

  long trustedEpochMillis() {
    return trustedEpochMillis;
  }

  boolean isFuture(long decidedAtEpochMillis) {
    return decidedAtEpochMillis > Math.max(trustedEpochMillis, stampEpochMillis) + MAX_AHEAD_MILLIS;
  }

  boolean isTooOld(long decidedAtEpochMillis) {
    return decidedAtEpochMillis < trustedEpochMillis - latenessMillis;
  }

  /** Returns the journal of a batch; creates it for the first batch of the journal. */
  JournalCoverage journal(CallBatch batch, long lowWatermarkEpochMillis, long atEpochMillis) {
    return journals
        .computeIfAbsent(batch.node(), first -> new TreeMap<>())
        .computeIfAbsent(
            batch.epoch(),
            first ->
                new JournalCoverage(
                    batch,
                    batch.epoch() <= heldFromEpochMillis()
                        ? batch.linesBefore()
                        : batch.linesBeforeEpoch(),
                    lowWatermarkEpochMillis,
                    atEpochMillis));
  }

  /** Returns whether a line was read, or belongs to a journal whose records may have expired. */
  boolean mayHaveRead(UsagePosition line) {
    JournalCoverage journal =
        journals.getOrDefault(line.node(), new TreeMap<>()).get(line.nodeEpoch());
    return journal == null ? line.nodeEpoch() <= heldFromEpochMillis() : journal.has(line.line());
  }

  /**
   * Returns the time from which the log has all recorded calls.
   *
   * @return {@link Long#MIN_VALUE} if the log still has its first record
   */
  long heldFromEpochMillis() {
    return beginsMidway ? firstAtEpochMillis + MAX_AHEAD_MILLIS : Long.MIN_VALUE;
  }

  /**
   * Returns whether {@link #mayLack} is exact before a time. {@code mayLack} is inexact while the
   * aggregator may keep a journal whose records have expired. {@code mayLack} is also inexact if
   * the aggregator rounds because of too many journals or gaps.
   */
  boolean judgesMissing(long epochMillis) {
    return journals.values().stream().mapToLong(TreeMap::size).sum() <= MAX_EXACT_JOURNALS
        && journals.values().stream()
            .flatMap(epochs -> epochs.values().stream())
            .allMatch(journal -> journal.runs() <= MAX_EXACT_RUNS)
        && (!beginsMidway || epochMillis > heldFromEpochMillis() + FORGOTTEN_AFTER_MILLIS);
  }

  /** Returns whether calls decided in an interval may be missing so far. */
  boolean mayLack(long fromEpochMillis, long untilEpochMillis) {
    return doubts(fromEpochMillis, untilEpochMillis).stream()
        .anyMatch(doubt -> doubt.fromEpochMillis() < doubt.untilEpochMillis());
  }

  /**
   * Returns the reasons why calls decided in an interval may be missing. The next calls of a node
   * are not missing if its low watermark is at or after {@code aliveFromEpochMillis}.
   */
  List<String> doubts(long fromEpochMillis, long untilEpochMillis, long aliveFromEpochMillis) {
    return doubts(fromEpochMillis, untilEpochMillis).stream()
        .filter(doubt -> !doubt.isOpen() || doubt.fromEpochMillis() < aliveFromEpochMillis)
        .map(JournalCoverage.Doubt::why)
        .toList();
  }

  private List<JournalCoverage.Doubt> doubts(long fromEpochMillis, long untilEpochMillis) {
    List<JournalCoverage.Doubt> doubts = new ArrayList<>();
    for (TreeMap<Long, JournalCoverage> epochs : journals.values()) {
      epochs.forEach((epoch, journal) -> doubts.addAll(journal.doubts(epochs.higherEntry(epoch))));
    }
    doubts.removeIf(doubt -> !doubt.overlaps(fromEpochMillis, untilEpochMillis));
    return doubts;
  }
}
