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
import java.util.function.Consumer;

/** The table of newest figures, a partition at a time. Safe for threads. */
interface UsageTable {
  /** Whether a partition is here; what is read of it may be old unless it is refreshed. */
  boolean isHere(int partition);

  /**
   * Waits until the table holds everything that was published of a partition before now.
   *
   * @return whether that is so: {@code UP_TO_DATE}, or {@code KAFKA_AWAY} when nobody can tell
   * @throws ProblemException when the partition is not here
   */
  Freshness refresh(int partition) throws InterruptedException;

  /** The same for all of the partitions 0 to {@code partitions} − 1; those here are told. */
  SortedMap<Integer, Freshness> refreshAll(int partitions) throws InterruptedException;

  /**
   * How far a partition that is here was counted; empty when nothing of it was.
   *
   * @throws ProblemException when the partition is not here (any more)
   */
  Optional<PartitionProgress> progress(int partition);

  /**
   * How right the decisions of a partition that is here were; empty when none was judged.
   *
   * @throws ProblemException when the partition is not here (any more)
   */
  Optional<PartitionAccuracy> accuracy(int partition);

  /**
   * The figures of one window; empty when nothing of it was counted.
   *
   * @throws ProblemException when the partition is not here (any more)
   */
  Optional<UsageState> window(int partition, UsageKey key, long startEpochMillis);

  /**
   * The names of clients of whom something was counted, in the order of their keys.
   *
   * @param prefix what the names begin with; empty for all
   * @param max most names to be given
   * @throws ProblemException when the partition is not here (any more)
   */
  List<String> clients(int partition, String prefix, int max);

  /**
   * Reads the figures of a client's windows that start in {@code [from, to)}.
   *
   * @param anyEndpoint the client and meter; its endpoint is not looked at
   * @throws ProblemException when the partition is not here (any more)
   */
  void read(
      int partition,
      UsageKey anyEndpoint,
      long fromEpochMillis,
      long toEpochMillis,
      Consumer<UsageState> into);
}
