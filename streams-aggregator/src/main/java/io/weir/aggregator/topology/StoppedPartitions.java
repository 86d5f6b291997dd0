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
 * code fail. The others are still counted. The record is not lost: it stays in the topic,
 * uncounted, until an operator has examined it. Thread-safe.
 *
 * <p>An operator may give up a record. The aggregator then moves the unchanged record to the
 * quarantine, uncounted, and continues after it.
 */
public final class StoppedPartitions {
  private static final Logger LOG = LoggerFactory.getLogger(StoppedPartitions.class);

  private final Set<RecordPlace> toQuarantine;
  private final Map<Integer, Stop> stops = new ConcurrentHashMap<>();

  /**
   * The record and the failure at which a partition has stopped.
   *
   * @param place the record that was being processed; the next one if the failure occurred between
   *     two records
   * @param betweenRecords whether no record was being processed; giving up a record then cannot
   *     help
   * @param failure the exception as text
   */
  public record Stop(RecordPlace place, boolean betweenRecords, String failure) {}

  /**
   * Creates the set without stopped partitions.
   *
   * @param toQuarantine records that an operator has given up, see {@code WEIR_QUARANTINE_RECORDS}
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

  /** Returns whether an operator has given up a record. */
  boolean isGivenUp(RecordPlace place) {
    return toQuarantine.contains(place);
  }

  /** Stops a partition and returns the exception to throw. */
  PartitionStoppedException stop(Stop stop, RuntimeException failure) {
    stops.put(stop.place().partition(), stop);
    LOG.error(
        "partition stopped, other partitions are still counted record={} failure={}: to continue"
            + " without this record, move it to the quarantine by WEIR_QUARANTINE_RECORDS={}",
        stop.place().describe(),
        stop.failure(),
        stop.place(),
        failure);
    return new PartitionStoppedException(
        "partition stopped at " + stop.place().describe(), failure);
  }

  /**
   * Removes a partition if another process has meanwhile counted the record at which it stopped.
   */
  void resumeIfPassed(int partition, long nextOffset) {
    stops.computeIfPresent(
        partition, (same, stop) -> stop.place().offset() < nextOffset ? null : stop);
  }

  /**
   * Returns whether a partition's counter failed between records; its periodic work must then not
   * run.
   */
  boolean isIdle(int partition) {
    Stop stop = stops.get(partition);
    return stop != null && stop.betweenRecords();
  }

  /** Returns the first offset that must not be processed, or null if there is none. */
  @Nullable Long withheldFrom(TopicPartition partition) {
    if (!partition.topic().equals(RecordPlace.TOPIC)) {
      return null;
    }
    Stop stop = stops.get(partition.partition());
    return stop == null ? null : stop.place().offset();
  }
}
