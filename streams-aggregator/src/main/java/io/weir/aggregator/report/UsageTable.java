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

/** The table of newest figures, one partition at a time. Thread-safe. */
interface UsageTable {
  /** Returns whether a partition is here. What is read of it may be old unless it is refreshed. */
  boolean isHere(int partition);

  /**
   * Waits until the table holds everything that was published to a partition before the call.
   *
   * @return {@code UP_TO_DATE} if it does, or {@code KAFKA_AWAY} if that cannot be determined
   * @throws ProblemException if the partition is not here
   */
  Freshness refresh(int partition) throws InterruptedException;

  /**
   * Refreshes all of the partitions 0 to {@code partitions} − 1, and returns how fresh those are
   * that are here.
   */
  SortedMap<Integer, Freshness> refreshAll(int partitions) throws InterruptedException;

  /**
   * Returns the progress of a partition that is here; empty if nothing of it was counted, or the
   * progress cannot be read.
   *
   * @throws ProblemException if the partition is not here, or no longer
   */
  Optional<PartitionProgress> progress(int partition);

  /**
   * Returns the accuracy of the decisions of a partition that is here; empty if no decision was
   * judged, or the accuracy cannot be read.
   *
   * @throws ProblemException if the partition is not here, or no longer
   */
  Optional<PartitionAccuracy> accuracy(int partition);

  /**
   * Returns the figures of one window; empty if nothing of it was counted, or they cannot be read.
   *
   * @throws ProblemException if the partition is not here, or no longer
   */
  Optional<UsageState> window(int partition, UsageKey key, long startEpochMillis);

  /**
   * Returns the names of clients for whom something was counted, in the order of their keys.
   *
   * @param prefix prefix of the names; empty for all
   * @param max most names to return
   * @param onVisit called for each row that is read; may throw to end the reading
   * @throws ProblemException if the partition is not here, or no longer
   */
  List<String> clients(int partition, String prefix, int max, Runnable onVisit);

  /** Receives the rows of windows. */
  interface Rows {
    /** Called for each row that is read, also of other windows; may throw to end the reading. */
    default void visited() {}

    /** Receives the figures of a window. */
    void add(UsageState state);

    /** Receives the start of a window with a row that cannot be read. */
    void addUnreadable(long startEpochMillis);
  }

  /**
   * Reads the figures of a client's windows that start in {@code [from, to)}.
   *
   * @param anyEndpoint the client and meter; its endpoint is ignored
   * @throws ProblemException if the partition is not here, or no longer
   */
  void read(
      int partition, UsageKey anyEndpoint, long fromEpochMillis, long toEpochMillis, Rows into);
}
