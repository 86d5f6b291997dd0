// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.time.Duration;
import java.util.List;

/**
 * The catalogue of all topics. Those of calls and of what is counted of them have the same number
 * of partitions, since rows stay in the partition of their calls; those of policies and clients
 * have one, which puts their changes in order.
 */
public final class Topics {
  /**
   * How long a call may be in flight; older calls are quarantined, and the audit log deletes them.
   */
  public static final Duration LATENESS = Duration.ofDays(35);

  /**
   * The audit log: sealed batches of calls. The broker timestamps its records, so that "too late"
   * and "from the future" are judged by one clock and a replay reaches the same verdict.
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
   * The newest figures of every key and window. What was erased of a client is gone from the disks
   * of the brokers within a week or so, and an aggregator that was away for some days still reads
   * of it.
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
   * The true state of buckets that the decision cache has wrong. A correction that is older than
   * the retention corrects nothing.
   */
  public static final Topic CORRECTIONS =
      new Topic(
          "weir.corrections.v1",
          "the true state of buckets that the decision cache has wrong",
          "compact,delete",
          LATENESS,
          false);

  /**
   * The verdict of the aggregator on each settlement, for which the node that requested it waits.
   */
  public static final Topic SETTLEMENTS =
      new Topic(
          "weir.settlements.v1",
          "what the counting did with each settlement of a call",
          "delete",
          LATENESS,
          false);

  /** The records that could not be counted, as they arrived. */
  public static final Topic QUARANTINE =
      new Topic(
          "weir.quarantine.v1",
          "records that could not be counted, as they came, with the reason",
          "delete",
          LATENESS,
          false);

  /**
   * How long each change of a policy or a client can be read: longer than the calls that it
   * decided.
   */
  private static final Duration CHANGES_KEPT = Duration.ofDays(400);

  /** The policies and switches, and who changed them when. */
  public static final Topic POLICIES =
      new Topic(
          "weir.policies.v1",
          "policies and switches: how they stand, and every change of 400 days",
          "compact",
          Duration.ZERO,
          false,
          1,
          CHANGES_KEPT,
          Duration.ZERO,
          Duration.ZERO);

  /** What is set for single clients, and who changed it when. */
  public static final Topic CLIENTS =
      new Topic(
          "weir.clients.v1",
          "what is set for single clients: as it stands, and every change of 400 days",
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

  /** Returns every topic, in the order of the flow. */
  public static List<Topic> all() {
    return ALL;
  }
}
