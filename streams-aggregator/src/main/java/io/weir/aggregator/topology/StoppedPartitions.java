// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The partitions of the calls topic that this process no longer counts because a record made the
 * code fail. The process continues to count the other partitions. The record is not lost: it stays
 * in the topic until an operator has examined it. Thread-safe.
 *
 * <p>An operator can name such a record in {@code WEIR_QUARANTINE_RECORDS}. The aggregator then
 * moves the record to the quarantine without counting it, and continues with the next record.
 */
public final class StoppedPartitions {
  private static final Logger LOG = LoggerFactory.getLogger(StoppedPartitions.class);

  private final Set<RecordPlace> toQuarantine;
  private final Map<Integer, Stop> stops = new ConcurrentHashMap<>();

  /**
   * The record at which a partition has stopped, and the failure.
   *
   * @param place the record that was being processed; if the failure occurred between two records,
   *     the next record
   * @param betweenRecords whether the failure occurred between two records; in that case, it does
   *     not help to move a record to the quarantine
   * @param failure the exception as text
   */
  public record Stop(RecordPlace place, boolean betweenRecords, String failure) {}

  /**
   * Creates an empty set of stopped partitions.
   *
   * @param toQuarantine the records to move to the quarantine ({@code WEIR_QUARANTINE_RECORDS})
   */
  public StoppedPartitions(Set<RecordPlace> toQuarantine) {
    this.toQuarantine = Set.copyOf(toQuarantine);
  }

  /** Returns the stopped partitions, ordered by number. */
  public List<Stop> all() {
    return stops.values().stream()
        .sorted(Comparator.comparingInt(stop -> stop.place().partition()))
        .toList();
  }

  /** Returns whether an operator has named this record in {@code WEIR_QUARANTINE_RECORDS}. */
  boolean isGivenUp(RecordPlace place) {
    return toQuarantine.contains(place);
  }

  /** Stops a partition and returns the exception to throw. */
  PartitionStoppedException stop(Stop stop, RuntimeException failure) {
    stops.put(stop.place().partition(), stop);
    LOG.error(
        "partition stopped record={} failure={}; other partitions are still counted; to continue"
            + " without this record, set WEIR_QUARANTINE_RECORDS={}, which moves the record to the"
            + " quarantine",
        stop.place().describe(),
        stop.failure(),
        stop.place(),
        failure);
    return new PartitionStoppedException(
        "partition stopped at " + stop.place().describe(), failure);
  }

  /**
   * Removes a stopped partition if another process has counted the record at which the partition
   * stopped.
   */
  void resumeIfPassed(int partition, long nextOffset) {
    stops.computeIfPresent(
        partition, (same, stop) -> stop.place().offset() < nextOffset ? null : stop);
  }

  /**
   * Returns whether the failure of a partition occurred between two records. After such a failure,
   * the partition's periodic work must not run.
   */
  boolean isIdle(int partition) {
    Stop stop = stops.get(partition);
    return stop != null && stop.betweenRecords();
  }

  /**
   * Returns the offset at which a partition has stopped, or null if the partition has not stopped.
   * This record and all later records must not be processed.
   */
  @Nullable Long withheldFrom(TopicPartition partition) {
    if (!partition.topic().equals(RecordPlace.TOPIC)) {
      return null;
    }
    Stop stop = stops.get(partition.partition());
    return stop == null ? null : stop.place().offset();
  }
}
