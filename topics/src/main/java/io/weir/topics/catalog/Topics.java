// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.time.Duration;
import java.util.List;

/**
 * The one list of all topics. All have the same number of partitions, since rows stay in theirs.
 */
public final class Topics {
  /**
   * How long a call may be on its way; older ones are quarantined and the audit log forgets them.
   */
  public static final Duration LATENESS = Duration.ofDays(35);

  /**
   * The audit log: sealed batches of calls. The broker stamps its records, so that "too late" and
   * "from the future" are judged by one clock and a replay judges alike.
   */
  public static final Topic CALLS =
      new Topic(
          "weir.calls.v1",
          "audit log: every decided call, in sealed batches",
          "delete",
          LATENESS,
          true);

  /** The only topic to bill from. */
  public static final Topic LEDGER =
      new Topic(
          "weir.usage.ledger.v1",
          "the only topic to bill from: FINAL, ADJUSTMENT, CLOSE",
          "delete",
          Duration.ofDays(400),
          false);

  /** The newest figures of every key and window. */
  public static final Topic STATE =
      new Topic(
          "weir.usage.state.v1",
          "newest figures of every key and window",
          "compact",
          Duration.ZERO,
          false);

  /** What the decision cache got wrong. A correction that is older than this corrects nothing. */
  public static final Topic CORRECTIONS =
      new Topic(
          "weir.corrections.v1",
          "the true state of buckets that the decision cache has wrong",
          "compact,delete",
          LATENESS,
          false);

  /** What the counting did with each settlement; who asked for it waits for this. */
  public static final Topic SETTLEMENTS =
      new Topic(
          "weir.settlements.v1",
          "what the counting did with each settlement of a call",
          "delete",
          LATENESS,
          false);

  /** What could not be counted, as it came. */
  public static final Topic QUARANTINE =
      new Topic(
          "weir.quarantine.v1",
          "records that could not be counted, as they came, with the reason",
          "delete",
          LATENESS,
          false);

  private static final List<Topic> ALL =
      List.of(CALLS, LEDGER, STATE, CORRECTIONS, SETTLEMENTS, QUARANTINE);

  private Topics() {}

  /** Whether a name is one of the catalogue's. */
  public static boolean contains(String name) {
    return ALL.stream().anyMatch(topic -> topic.name().equals(name));
  }

  /** Every topic, in the order of the flow. */
  public static List<Topic> all() {
    return ALL;
  }
}
