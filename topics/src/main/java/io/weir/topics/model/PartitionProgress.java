// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import java.util.List;

/**
 * The progress of counting in one partition of the calls topic. In the state topic it follows the
 * figures to which it refers. A consumer that has read it has therefore read these figures, too.
 * Immutable.
 *
 * @param partition the partition
 * @param offset offset of the last record counted, −1 before the first
 * @param watermarkEpochMillis every call that any live node decided before this time is counted; 0
 *     before the first low watermark
 * @param closedThroughEpochMillis boundary of the last CLOSE row; 0 before the first
 * @param newestLowWatermarkEpochMillis the greatest low watermark of any node; 0 before the first
 * @param counters the counts of lines by outcome
 * @param idConflicts calls with an id that identifies another call; they are counted as separate
 *     calls
 * @param periodConflicts lines with another billing period than the row in which they are counted
 * @param inOtherRows lines of {@code counted} and {@code lateAdjusted} that are counted in the row
 *     of the others, because their endpoint has no own row in the window
 * @param maxEndpoints maximum number of endpoints of a client and meter with their own rows in a
 *     window; 0 while {@code inOtherRows} is 0
 * @param nodes every epoch of a node whose low watermark is awaited in the partition, or that
 *     departed recently
 * @param possibleGaps event times before {@code closedThroughEpochMillis} for which calls may be
 *     missing, ascending and without overlaps, at most {@value #MAX_GAPS}; a closed window that
 *     shares a millisecond with one of them is not complete
 */
public record PartitionProgress(
    int partition,
    long offset,
    long watermarkEpochMillis,
    long closedThroughEpochMillis,
    long newestLowWatermarkEpochMillis,
    Counters counters,
    long idConflicts,
    long periodConflicts,
    long inOtherRows,
    long maxEndpoints,
    List<Node> nodes,
    List<Gap> possibleGaps) {

  /** Maximum number of gaps in one record; gaps that are close to each other are merged. */
  public static final int MAX_GAPS = 64;

  public PartitionProgress {
    nodes = List.copyOf(nodes);
    possibleGaps = List.copyOf(possibleGaps);
  }

  /**
   * Returns whether no call can be missing in the closed windows of a range.
   *
   * @param fromEpochMillis start of the first window, inclusive
   * @param untilEpochMillis end of the last window, exclusive
   */
  public boolean isComplete(long fromEpochMillis, long untilEpochMillis) {
    return untilEpochMillis <= closedThroughEpochMillis
        && possibleGaps.stream().noneMatch(gap -> gap.overlaps(fromEpochMillis, untilEpochMillis));
  }

  /** Creates the progress of a partition without gaps, in which every endpoint has its own row. */
  public PartitionProgress(
      int partition,
      long offset,
      long watermarkEpochMillis,
      long closedThroughEpochMillis,
      long newestLowWatermarkEpochMillis,
      Counters counters,
      long idConflicts,
      long periodConflicts,
      List<Node> nodes) {
    this(
        partition,
        offset,
        watermarkEpochMillis,
        closedThroughEpochMillis,
        newestLowWatermarkEpochMillis,
        counters,
        idConflicts,
        periodConflicts,
        0,
        0,
        nodes,
        List.of());
  }

  /**
   * A range of event time, {@code [from, until)}, for which calls may be missing.
   *
   * @param fromEpochMillis start, inclusive
   * @param untilEpochMillis end, exclusive
   */
  public record Gap(long fromEpochMillis, long untilEpochMillis) {
    /** Returns whether the gap shares a millisecond with {@code [start, end)}. */
    public boolean overlaps(long startEpochMillis, long endEpochMillis) {
      return fromEpochMillis < endEpochMillis && startEpochMillis < untilEpochMillis;
    }
  }

  /**
   * Lines of the partition by their outcome. Received = counted + duplicate + late-adjusted +
   * quarantined, always.
   *
   * @param received lines read
   * @param counted folded into an open window
   * @param duplicate dropped because the batch or the id was counted before
   * @param lateAdjusted counted by an ADJUSTMENT
   * @param quarantined rejected, and written to the quarantine topic
   */
  public record Counters(
      long received, long counted, long duplicate, long lateAdjusted, long quarantined) {
    public static final Counters ZERO = new Counters(0, 0, 0, 0, 0);

    public Counters {
      if (received != counted + duplicate + lateAdjusted + quarantined) {
        throw new IllegalStateException(
            "received must be the sum of the other counters: received="
                + received
                + " counted="
                + counted
                + " duplicate="
                + duplicate
                + " late_adjusted="
                + lateAdjusted
                + " quarantined="
                + quarantined);
      }
    }
  }

  /**
   * The state of one ingest node in the partition.
   *
   * @param node the node's name
   * @param epoch the epoch of the node's journal
   * @param lines counted lines of the node without a gap before them
   * @param missingLines lines missing below the greatest known position; a number that stays above
   *     0 is evidence of loss
   * @param lowWatermarkEpochMillis the node's low watermark
   * @param state whether the node's low watermark is awaited
   */
  public record Node(
      String node,
      long epoch,
      long lines,
      long missingLines,
      long lowWatermarkEpochMillis,
      State state) {}

  /** Whether a node's low watermark is awaited. */
  public enum State {
    /** The low watermark is awaited. */
    LIVE,
    /** The node has been silent for longer than the hold; windows close without it, incomplete. */
    SILENT,
    /** The node has announced that it has no more lines. */
    DEPARTED,
    /** A newer epoch of the same node has appeared without that announcement: calls may be lost. */
    LOST
  }
}
