// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.table.Freshness;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;

/** Access to the table of newest figures, by partition. Thread-safe. */
interface UsageTable {
  /**
   * Returns whether a partition is readable on this instance. Its rows may be old unless it is
   * refreshed.
   */
  boolean isHere(int partition);

  /**
   * Waits until the table contains everything published to a partition before the call.
   *
   * @return {@code UP_TO_DATE} on success, or {@code KAFKA_AWAY} if Kafka is unavailable
   * @throws ProblemException if the partition is not on this instance
   */
  Freshness refresh(int partition) throws InterruptedException;

  /**
   * Refreshes the partitions 0 to {@code partitions} − 1, and returns the freshness of those on
   * this instance.
   */
  SortedMap<Integer, Freshness> refreshAll(int partitions) throws InterruptedException;

  /**
   * Returns the progress of a partition; empty if nothing of it has been counted, or if the
   * progress is unreadable.
   *
   * @throws ProblemException if the partition is not on this instance
   */
  Optional<PartitionProgress> progress(int partition);

  /**
   * Returns the accuracy of the cache's decisions in a partition; empty if no decision was judged,
   * or if the accuracy is unreadable.
   *
   * @throws ProblemException if the partition is not on this instance
   */
  Optional<PartitionAccuracy> accuracy(int partition);

  /**
   * Returns the figures of one window; empty if nothing of it has been counted, or if they are
   * unreadable.
   *
   * @throws ProblemException if the partition is not on this instance
   */
  Optional<UsageState> window(int partition, UsageKey key, long startEpochMillis);

  /**
   * Returns the names of clients with usage, in the order of their keys.
   *
   * @param prefix prefix of the names; empty for all
   * @param max maximum number of names
   * @param onVisit called for each row read; may throw to stop
   * @throws ProblemException if the partition is not on this instance
   */
  List<String> clients(int partition, String prefix, int max, Runnable onVisit);

  /** Receives the rows of windows. */
  interface Rows {
    /** Called for each row read, also of other windows; may throw to stop. */
    default void visited() {}

    /** Receives the figures of a window. */
    void add(UsageState state);

    /** Receives the start of a window with an unreadable row. */
    void addUnreadable(long startEpochMillis);
  }

  /**
   * Reads the figures of a client's windows that start in {@code [from, to)}.
   *
   * @param anyEndpoint the client and meter; its endpoint is ignored
   * @throws ProblemException if the partition is not on this instance
   */
  void read(
      int partition, UsageKey anyEndpoint, long fromEpochMillis, long toEpochMillis, Rows into);
}
