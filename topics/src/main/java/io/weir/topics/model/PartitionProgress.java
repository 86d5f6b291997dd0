// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import java.util.List;

/**
 * The progress of counting in one partition of the calls topic. In the state topic, a progress
 * record follows the figures to which it refers, so a consumer reads the figures before the record.
 * Immutable.
 *
 * @param partition the partition
 * @param offset offset of the last counted record; −1 before the first record
 * @param watermarkEpochMillis the watermark: every call that a live node decided before this time
 *     is counted; 0 before the first low watermark
 * @param closedThroughEpochMillis exclusive end of the last closed window; 0 before the first CLOSE
 *     row
 * @param newestLowWatermarkEpochMillis the greatest low watermark of all nodes; 0 before the first
 *     low watermark
 * @param counters the number of lines by outcome
 * @param idConflicts number of calls whose id also identifies another call; each is counted as a
 *     separate call
 * @param periodConflicts number of lines whose billing period differs from the billing period of
 *     their row
 * @param inOtherRows number of lines in {@code counted} and {@code lateAdjusted} that the row of
 *     the others counts, because their endpoints have no rows of their own
 * @param maxEndpoints maximum number of endpoints that have their own row in a window, per client
 *     and meter; 0 while {@code inOtherRows} is 0
 * @param nodes the node epochs whose low watermarks the partition waits for, and the node epochs
 *     that departed recently
 * @param possibleGaps ranges of event time before {@code closedThroughEpochMillis} for which calls
 *     may be missing, ascending and without overlaps, at most {@value #MAX_GAPS}. A closed window
 *     that overlaps one of the ranges is not complete
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

  /**
   * Maximum number of gaps in one record. The aggregator merges gaps that are close to each other.
   */
  public static final int MAX_GAPS = 64;

  public PartitionProgress {
    nodes = List.copyOf(nodes);
    possibleGaps = List.copyOf(possibleGaps);
  }

  /**
   * Returns whether the closed windows of a range contain all calls.
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
    /** Returns whether the gap overlaps {@code [start, end)}. */
    public boolean overlaps(long startEpochMillis, long endEpochMillis) {
      return fromEpochMillis < endEpochMillis && startEpochMillis < untilEpochMillis;
    }
  }

  /**
   * The number of lines of the partition by outcome. Always received = counted + duplicate +
   * late-adjusted + quarantined.
   *
   * @param received number of lines that were read
   * @param counted number of lines that were counted in an open window
   * @param duplicate number of lines that were not counted because their batch or id had been
   *     counted before
   * @param lateAdjusted number of lines that were counted in an ADJUSTMENT
   * @param quarantined number of lines that were written to the quarantine topic instead
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
   * @param lines number of counted lines of the node before the first missing line
   * @param missingLines number of missing lines below the greatest known position; if it stays
   *     above 0, lines are probably lost
   * @param lowWatermarkEpochMillis the node's low watermark
   * @param state whether the partition waits for the node's low watermark
   */
  public record Node(
      String node,
      long epoch,
      long lines,
      long missingLines,
      long lowWatermarkEpochMillis,
      State state) {}

  /** The states of a node in a partition. */
  public enum State {
    /** The partition waits for the node's low watermark. */
    LIVE,
    /**
     * The node has been silent for longer than the hold. Windows close without its calls, and are
     * not complete.
     */
    SILENT,
    /** The node has sent its final heartbeat. */
    DEPARTED,
    /**
     * A newer epoch of the same node has begun without a final heartbeat of this epoch. Calls may
     * be lost.
     */
    LOST
  }
}
