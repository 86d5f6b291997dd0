// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallBatch;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The positions and low watermarks of one journal epoch of a node, as far as one partition has
 * them. Memory grows with the number of gaps, not of lines. Not thread-safe.
 */
final class JournalCoverage {
  private final String name;
  private final TreeMap<Long, Run> runs = new TreeMap<>();
  private long headPosition;
  private long headLowWatermarkEpochMillis;
  private long headAtEpochMillis;
  private boolean departed;

  /** The broker's time of the first record of this journal. */
  final long firstAtEpochMillis;

  /** A run of consecutive positions. Its key in the map is its first position. */
  private record Run(long last, long lowWatermarkEpochMillis, long firstAtEpochMillis) {
    Run joinedWith(Run other) {
      return new Run(
          Math.max(last, other.last),
          Math.max(lowWatermarkEpochMillis, other.lowWatermarkEpochMillis),
          Math.min(firstAtEpochMillis, other.firstAtEpochMillis));
    }
  }

  /** A half-open interval of call times in which calls may be missing. */
  record Doubt(long fromEpochMillis, long untilEpochMillis, String why) {
    /** Returns whether the next low watermark of the node may still remove the doubt. */
    boolean isOpen() {
      return untilEpochMillis == Long.MAX_VALUE;
    }

    /** Returns whether the doubt shares a millisecond with {@code [from, until)}. */
    boolean overlaps(long from, long until) {
      return fromEpochMillis < until && from < untilEpochMillis;
    }
  }

  /**
   * Creates a journal without lines.
   *
   * @param first its first batch or heartbeat
   * @param base the position before the journal's first line
   * @param lowWatermarkEpochMillis the low watermark of {@code first}, bounded by the broker's
   *     clock
   */
  JournalCoverage(CallBatch first, long base, long lowWatermarkEpochMillis, long atEpochMillis) {
    name = "node " + first.node() + ", epoch " + first.epoch();
    firstAtEpochMillis = atEpochMillis;
    // all calls of an epoch were decided after the epoch was opened
    runs.put(0L, new Run(base, Math.min(first.epoch(), lowWatermarkEpochMillis), atEpochMillis));
  }

  int runs() {
    return runs.size();
  }

  /** Returns whether a line was read at a position. */
  boolean has(long position) {
    Map.Entry<Long, Run> below = runs.floorEntry(position);
    return below != null && position <= below.getValue().last();
  }

  /**
   * Records a batch or a heartbeat.
   *
   * @param lowWatermarkEpochMillis low watermark of the batch or heartbeat, already bounded by the
   *     broker's clock
   */
  void note(CallBatch batch, long lowWatermarkEpochMillis, long atEpochMillis) {
    long last = runs.lastEntry().getValue().last();
    if (batch.count() > 0) {
      // a batch from before the final heartbeat (a retry, a replay) does not revoke it
      departed &= batch.lastPosition() <= Math.max(last, headPosition);
      join(
          batch.linesBefore() + 1,
          new Run(batch.lastPosition(), lowWatermarkEpochMillis, atEpochMillis));
    } else {
      boolean knowsLess = batch.departing() && batch.linesBefore() < Math.max(last, headPosition);
      departed = knowsLess ? departed : batch.departing();
      if (batch.linesBefore() > last) {
        headAtEpochMillis = headPosition == 0 ? atEpochMillis : headAtEpochMillis;
        headPosition = Math.max(headPosition, batch.linesBefore());
        headLowWatermarkEpochMillis =
            Math.max(headLowWatermarkEpochMillis, lowWatermarkEpochMillis);
      } else if (!knowsLess) {
        raise(batch.linesBefore(), lowWatermarkEpochMillis);
      }
    }
    if (headPosition > 0 && headPosition <= runs.lastEntry().getValue().last()) {
      raise(headPosition, headLowWatermarkEpochMillis);
      headPosition = 0;
    }
  }

  private void raise(long position, long lowWatermarkEpochMillis) {
    Map.Entry<Long, Run> run = runs.floorEntry(position);
    if (run != null && position <= run.getValue().last()) {
      Run raised = new Run(run.getValue().last(), lowWatermarkEpochMillis, Long.MAX_VALUE);
      runs.put(run.getKey(), run.getValue().joinedWith(raised));
    }
  }

  private void join(long first, Run run) {
    Map.Entry<Long, Run> below = runs.floorEntry(first);
    if (below != null && below.getValue().last() >= first - 1) {
      first = below.getKey();
      run = run.joinedWith(below.getValue());
    }
    Map.Entry<Long, Run> above;
    while ((above = runs.higherEntry(first)) != null && above.getKey() <= run.last() + 1) {
      run = run.joinedWith(above.getValue());
      runs.remove(above.getKey());
    }
    runs.put(first, run);
  }

  /**
   * Returns the intervals of call times in which calls of the journal may be missing.
   *
   * @param next the node's next epoch and its journal; null if there is none
   */
  List<Doubt> doubts(Map.@Nullable Entry<Long, JournalCoverage> next) {
    List<Doubt> doubts = new ArrayList<>();
    // the calls that are missing before a run were decided before any later run was read
    Map<Long, Long> revealedAt = new HashMap<>();
    long earliest = Long.MAX_VALUE;
    for (Map.Entry<Long, Run> run : runs.descendingMap().entrySet()) {
      earliest = Math.min(earliest, run.getValue().firstAtEpochMillis());
      revealedAt.put(run.getKey(), earliest);
    }
    long lastBefore = 0;
    long promise = 0;
    for (Map.Entry<Long, Run> run : runs.entrySet()) {
      if (run.getKey() > 0) {
        doubts.add(
            missing(
                promise,
                revealedAt.getOrDefault(run.getKey(), Long.MAX_VALUE),
                lastBefore + 1,
                run.getKey() - 1));
      }
      lastBefore = run.getValue().last();
      promise = Math.max(promise, run.getValue().lowWatermarkEpochMillis());
    }
    if (headPosition > 0) {
      doubts.add(missing(promise, headAtEpochMillis, lastBefore + 1, headPosition));
      promise = Math.max(promise, headLowWatermarkEpochMillis);
    }
    if (!departed) {
      doubts.add(
          new Doubt(
              promise,
              next == null ? Long.MAX_VALUE : next.getValue().firstAtEpochMillis,
              name
                  + (next == null
                      ? ": the node may still hold calls"
                      : ": the node opened a new epoch without a final heartbeat, and may have lost"
                          + " calls")));
    }
    return doubts;
  }

  private Doubt missing(long from, long until, long firstLine, long lastLine) {
    return new Doubt(
        from, until, name + ": lines " + firstLine + " to " + lastLine + " are missing");
  }
}
