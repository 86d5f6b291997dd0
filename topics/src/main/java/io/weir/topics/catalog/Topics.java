// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.time.Duration;
import java.util.List;

/**
 * The catalogue of all topics. The topics of calls and of their counts have the same number of
 * partitions, since rows are in the partition of their calls. The topics of policies and clients
 * have one partition, which orders their changes.
 */
public final class Topics {
  /** Maximum age of a call; older calls are quarantined, and the audit log deletes them. */
  public static final Duration LATENESS = Duration.ofDays(35);

  /**
   * The audit log: sealed batches of calls. The broker timestamps its records. One clock therefore
   * decides whether a call is too late or from the future, and a replay gets the same verdict.
   */
  public static final Topic CALLS =
      new Topic(
          "weir.calls.v1",
          "audit log: every decided call, in sealed batches",
          "delete",
          LATENESS,
          true);

  /** The usage ledger, the only topic to bill from. */
  public static final Topic LEDGER =
      new Topic(
          "weir.usage.ledger.v1",
          "the only topic to bill from: FINAL, ADJUSTMENT, CLOSE",
          "delete",
          Duration.ofDays(400),
          false);

  /**
   * The newest figures of every key and window. The erased records of a client are removed from the
   * brokers' disks within about a week. An aggregator that was down for some days still reads the
   * tombstones.
   */
  public static final Topic STATE =
      new Topic(
          "weir.usage.state.v1",
          "newest figures of every key and window",
          "compact",
          Duration.ZERO,
          false,
          0,
          Duration.ZERO,
          Duration.ofDays(7),
          Duration.ofDays(7));

  /**
   * The true state of buckets that are wrong in the decision cache. A correction older than the
   * retention has no effect.
   */
  public static final Topic CORRECTIONS =
      new Topic(
          "weir.corrections.v1",
          "the true state of buckets that are wrong in the decision cache",
          "compact,delete",
          LATENESS,
          false);

  /**
   * The verdict of the aggregator on each settlement. The node that recorded the settlement waits
   * for it.
   */
  public static final Topic SETTLEMENTS =
      new Topic(
          "weir.settlements.v1",
          "the aggregator's verdict on each settlement of a call",
          "delete",
          LATENESS,
          false);

  /** The records that could not be counted, as they arrived. */
  public static final Topic QUARANTINE =
      new Topic(
          "weir.quarantine.v1",
          "records that could not be counted, as received, with the reason",
          "delete",
          LATENESS,
          false);

  /**
   * How long each change of a policy or client is kept: longer than the calls that were decided by
   * it.
   */
  private static final Duration CHANGES_KEPT = Duration.ofDays(400);

  /** The policies and switches, with the author and time of each change. */
  public static final Topic POLICIES =
      new Topic(
          "weir.policies.v1",
          "policies and switches: current state, and every change of 400 days",
          "compact",
          Duration.ZERO,
          false,
          1,
          CHANGES_KEPT,
          Duration.ZERO,
          Duration.ZERO);

  /** The settings of single clients, with the author and time of each change. */
  public static final Topic CLIENTS =
      new Topic(
          "weir.clients.v1",
          "settings of single clients: current state, and every change of 400 days",
          "compact",
          Duration.ZERO,
          false,
          1,
          CHANGES_KEPT,
          Duration.ZERO,
          Duration.ZERO);

  private static final List<Topic> ALL =
      List.of(CALLS, LEDGER, STATE, CORRECTIONS, SETTLEMENTS, QUARANTINE, POLICIES, CLIENTS);

  private Topics() {}

  /** Returns whether a topic of the catalogue has the given name. */
  public static boolean contains(String name) {
    return ALL.stream().anyMatch(topic -> topic.name().equals(name));
  }

  /** Returns all topics, in the order of the data flow. */
  public static List<Topic> all() {
    return ALL;
  }
}
