// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import java.util.List;

/**
 * How far one partition of the calls topic has been counted. It travels in the state topic behind
 * the figures it speaks of, so whoever has read it has read them.
 *
 * @param partition the partition
 * @param offset offset of the last record counted, −1 before the first
 * @param watermarkEpochMillis every call decided before this, by every live node, is counted; 0
 *     when no promise was made yet
 * @param closedThroughEpochMillis boundary of the last CLOSE row; 0 before the first
 * @param newestPromiseEpochMillis the greatest promise any node made; 0 before the first
 * @param counters the written equation's terms
 * @param idConflicts calls that came under an id that names another call: counted as calls of their
 *     own
 * @param nodes every epoch of a node that is awaited in the partition, or departed lately
 */
public record PartitionProgress(
    int partition,
    long offset,
    long watermarkEpochMillis,
    long closedThroughEpochMillis,
    long newestPromiseEpochMillis,
    Counters counters,
    long idConflicts,
    List<Node> nodes) {

  public PartitionProgress {
    nodes = List.copyOf(nodes);
  }

  /**
   * Lines of the partition by what became of them. Received = counted + duplicate + late-adjusted +
   * quarantined, always.
   *
   * @param received lines read
   * @param counted folded into an open window
   * @param duplicate dropped because batch or id had been counted before
   * @param lateAdjusted counted through an ADJUSTMENT
   * @param quarantined refused, and kept in the quarantine topic
   */
  public record Counters(
      long received, long counted, long duplicate, long lateAdjusted, long quarantined) {
    public static final Counters ZERO = new Counters(0, 0, 0, 0, 0);

    public Counters {
      if (received != counted + duplicate + lateAdjusted + quarantined) {
        throw new IllegalStateException(
            "the equation does not hold: received="
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
   * What is known of one ingest node in the partition.
   *
   * @param node its name
   * @param epoch its journal
   * @param lines its lines counted, without a hole before them
   * @param missingLines lines that are missing below the greatest position heard of: evidence of
   *     loss when it stays
   * @param promiseEpochMillis its low watermark
   * @param state whether its promise is waited for
   */
  public record Node(
      String node,
      long epoch,
      long lines,
      long missingLines,
      long promiseEpochMillis,
      State state) {}

  /** Whether a node's promise is waited for. */
  public enum State {
    /** It is. */
    LIVE,
    /** It has been silent for longer than the hold; windows close without it, incomplete. */
    SILENT,
    /** It has said that it holds nothing more. */
    DEPARTED,
    /** A newer epoch of the same node appeared without that: calls of it may be lost. */
    LOST
  }
}
