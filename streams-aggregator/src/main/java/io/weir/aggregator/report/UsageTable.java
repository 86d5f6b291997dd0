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

/** The table of the newest usage figures. Each read concerns one partition. Thread-safe. */
interface UsageTable {
  /**
   * Returns whether a partition is readable on this instance. Before a call of {@link #refresh},
   * the rows may be outdated.
   */
  boolean isHere(int partition);

  /**
   * Waits until the table contains all records that were published to a partition before the call.
   *
   * @return {@code UP_TO_DATE} on success, or {@code KAFKA_AWAY} if Kafka is unavailable
   * @throws ProblemException if the partition is not on this instance
   */
  Freshness refresh(int partition) throws InterruptedException;

  /**
   * Refreshes the partitions from 0 to {@code partitions} − 1. Returns the freshness of the
   * partitions on this instance.
   */
  SortedMap<Integer, Freshness> refreshAll(int partitions) throws InterruptedException;

  /**
   * Returns the progress of a partition. Returns empty if no record of the partition has been
   * counted, or if the progress is unreadable.
   *
   * @throws ProblemException if the partition is not on this instance
   */
  Optional<PartitionProgress> progress(int partition);

  /**
   * Returns the accuracy figures of a partition. Returns empty if there are none, or if they are
   * unreadable.
   *
   * @throws ProblemException if the partition is not on this instance
   */
  Optional<PartitionAccuracy> accuracy(int partition);

  /**
   * Returns the figures of a key in one window. Returns empty if there are none, or if they are
   * unreadable.
   *
   * @throws ProblemException if the partition is not on this instance
   */
  Optional<UsageState> window(int partition, UsageKey key, long startEpochMillis);

  /**
   * Returns the names of clients with usage, in the order of their keys.
   *
   * @param prefix prefix of the names; empty for all names
   * @param max maximum number of names
   * @param onVisit called for each row read; may throw an exception to stop the read
   * @throws ProblemException if the partition is not on this instance
   */
  List<String> clients(int partition, String prefix, int max, Runnable onVisit);

  /** A receiver of the rows of windows. */
  interface Rows {
    /** Receives the figures of one window. */
    void add(UsageState state);

    /** Receives the start of a window with an unreadable row. */
    void addUnreadable(long startEpochMillis);
  }

  /**
   * Reads the figures of a client's windows that start in {@code [from, to)}.
   *
   * @param anyEndpoint the client and meter; its endpoint is ignored
   * @param onVisit called for each row read, including rows of other windows; may throw an
   *     exception to stop the read
   * @throws ProblemException if the partition is not on this instance
   */
  void read(
      int partition,
      UsageKey anyEndpoint,
      long fromEpochMillis,
      long toEpochMillis,
      Runnable onVisit,
      Rows into);
}
