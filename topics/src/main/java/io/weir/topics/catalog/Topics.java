// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.time.Duration;
import java.util.List;

/**
 * The catalogue of all topics. The topics of calls and of their counts have the same number of
 * partitions, because a row is in the same partition as its calls. The topics of policies and
 * clients have one partition, so that their changes are in one order.
 */
public final class Topics {
  /**
   * Maximum age of a call. The aggregator quarantines older calls, and Kafka deletes them from the
   * audit log.
   */
  public static final Duration LATENESS = Duration.ofDays(35);

  /**
   * The audit log: sealed batches of calls. The broker sets the timestamps. The clock of the broker
   * therefore determines whether a call is too late or from the future. Every later reader of the
   * log gets the same result.
   */
  public static final Topic CALLS =
      new Topic(
          "weir.calls.v1",
          "audit log: every decided call, in sealed batches",
          "delete",
          LATENESS,
          true);

  /** The usage ledger. Bills must be made from this topic only. */
  public static final Topic LEDGER =
      new Topic(
          "weir.usage.ledger.v1",
          "the only topic to bill from: FINAL, ADJUSTMENT, CLOSE",
          "delete",
          Duration.ofDays(400),
          false);

  /**
   * The newest figures of every key and window. After Weir has erased a client, Kafka removes the
   * records from disk within about a week. Kafka keeps tombstones long enough for an aggregator
   * that was down for some days.
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
   * The corrections: the state that wrong buckets in the decision cache should have. A correction
   * that is older than the retention has no effect.
   */
  public static final Topic CORRECTIONS =
      new Topic(
          "weir.corrections.v1",
          "the true state of buckets that are wrong in the decision cache",
          "compact,delete",
          LATENESS,
          false);

  /**
   * The aggregator's verdict on each settlement. The node that recorded a settlement waits for the
   * verdict.
   */
  public static final Topic SETTLEMENTS =
      new Topic(
          "weir.settlements.v1",
          "the aggregator's verdict on each settlement of a call",
          "delete",
          LATENESS,
          false);

  /** The unchanged records that the aggregator could not count. */
  public static final Topic QUARANTINE =
      new Topic(
          "weir.quarantine.v1",
          "records that could not be counted, as received, with the reason",
          "delete",
          LATENESS,
          false);

  /** How long Kafka keeps each change of a policy or client; longer than the retention of calls. */
  private static final Duration CHANGES_KEPT = Duration.ofDays(400);

  /** The policies and switches, with the author and the time of each change. */
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

  /** The settings of single clients, with the author and the time of each change. */
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
