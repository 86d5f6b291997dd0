// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallBatch;
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The result of the recount for one partition: the sums of its lines, its journals, and the time
 * since when the log is complete. Not thread-safe.
 */
final class RecountedPartition {
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

  private final BrokerTime broker;
  private final Map<String, TreeMap<Long, JournalCoverage>> journals = new HashMap<>();
  private boolean beginsMidway;
  private long firstOffset;

  /** The broker's time of the first record of the log. */
  private long firstAtEpochMillis = Long.MIN_VALUE;

  RecountedPartition(long latenessMillis) {
    broker = new BrokerTime(latenessMillis);
  }

  /** Records the first record that is read. Later calls have no effect. */
  void beginsWith(long offset, long atEpochMillis) {
    if (firstAtEpochMillis == Long.MIN_VALUE) {
      firstAtEpochMillis = atEpochMillis;
      beginsMidway = offset > 0;
      firstOffset = offset;
    }
  }

  /** Returns the offset of the first record that was read. */
  long firstOffset() {
    return firstOffset;
  }

  /** Returns the broker's clock of this partition. */
  BrokerTime broker() {
    return broker;
  }

  /** Returns the journal of a batch; creates it for the first batch of the journal. */
  JournalCoverage journal(CallBatch batch, long lowWatermarkEpochMillis, long atEpochMillis) {
    return journals
        .computeIfAbsent(batch.node(), first -> new TreeMap<>())
        .computeIfAbsent(
            batch.epoch(),
            first ->
                new JournalCoverage(
                    batch.epoch() <= heldFromEpochMillis()
                        ? batch.linesBefore()
                        : batch.linesBeforeEpoch(),
                    batch.epoch(),
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
   * Returns the time since when the log has all recorded calls.
   *
   * @return {@link Long#MIN_VALUE} if the log still has its first record
   */
  long heldFromEpochMillis() {
    return beginsMidway ? firstAtEpochMillis + BrokerTime.MAX_AHEAD_MILLIS : Long.MIN_VALUE;
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
    for (TreeMap<Long, JournalCoverage> epochs : journals.values()) {
      for (Map.Entry<Long, JournalCoverage> one : epochs.entrySet()) {
        for (JournalCoverage.Doubt doubt :
            one.getValue().doubts(nextOpening(epochs, one.getKey()))) {
          if (doubt.fromEpochMillis() < doubt.untilEpochMillis()
              && doubt.overlaps(fromEpochMillis, untilEpochMillis)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  /** Returns the time of the first record of the next epoch; {@link Long#MAX_VALUE} without one. */
  private static long nextOpening(NavigableMap<Long, JournalCoverage> epochs, long epoch) {
    Map.Entry<Long, JournalCoverage> next = epochs.higherEntry(epoch);
    return next == null ? Long.MAX_VALUE : next.getValue().firstAtEpochMillis;
  }

  /** Returns the reasons why calls decided in an interval may be missing. */
  List<String> doubts(long fromEpochMillis, long untilEpochMillis, long aliveFromEpochMillis) {
    List<String> whys = new ArrayList<>();
    journals.forEach(
        (node, epochs) ->
            epochs.forEach(
                (epoch, journal) -> {
                  for (JournalCoverage.Doubt doubt : journal.doubts(nextOpening(epochs, epoch))) {
                    boolean isAlive =
                        doubt.isOpen() && doubt.fromEpochMillis() >= aliveFromEpochMillis;
                    if (!isAlive && doubt.overlaps(fromEpochMillis, untilEpochMillis)) {
                      whys.add("node " + node + ", epoch " + epoch + ": " + doubt.why());
                    }
                  }
                }));
    return whys;
  }
}
