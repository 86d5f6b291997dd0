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
 * Partitions of the calls topic that this process counts no further, since a record made the code
 * fail. The others are counted on, and nothing of the record is lost: it stays where it is,
 * uncounted, until a person has looked at it. Safe for threads.
 *
 * <p>A verdict says of one record that it is to be put into the quarantine as it is, uncounted;
 * then its partition is counted on.
 */
public final class StoppedPartitions {
  private static final Logger LOG = LoggerFactory.getLogger(StoppedPartitions.class);

  private final Set<RecordPlace> toQuarantine;
  private final Map<Integer, Stop> stops = new ConcurrentHashMap<>();

  /**
   * Why a partition stands still.
   *
   * @param place the record that was being taken; the next one when the failure came between two
   * @param betweenRecords whether no record was being taken, so that no verdict can help
   * @param failure what the code threw
   */
  public record Stop(RecordPlace place, boolean betweenRecords, String failure) {}

  /**
   * None is stopped yet.
   *
   * @param toQuarantine records that a person has given up, see {@code WEIR_QUARANTINE_RECORDS}
   */
  public StoppedPartitions(Set<RecordPlace> toQuarantine) {
    this.toQuarantine = Set.copyOf(toQuarantine);
  }

  /** The partitions that stand still, in order. */
  public List<Stop> all() {
    return stops.values().stream()
        .sorted(Comparator.comparingInt(stop -> stop.place().partition()))
        .toList();
  }

  /** Whether a person has given up a record. */
  boolean isGivenUp(RecordPlace place) {
    return toQuarantine.contains(place);
  }

  /** Stops a partition; the exception to throw. */
  PartitionStoppedException stop(Stop stop, RuntimeException failure) {
    stops.put(stop.place().partition(), stop);
    LOG.error(
        "partition stopped, others are counted on record={} failure={}: to go on without this record,"
            + " put it into the quarantine by WEIR_QUARANTINE_RECORDS={}",
        stop.place().describe(),
        stop.failure(),
        stop.place(),
        failure);
    return new PartitionStoppedException(
        "partition stopped at " + stop.place().describe(), failure);
  }

  /** A partition that was counted past its stop, by another process meanwhile, stands no longer. */
  void resumeBehind(int partition, long nextOffset) {
    stops.computeIfPresent(
        partition, (same, stop) -> stop.place().offset() < nextOffset ? null : stop);
  }

  /** Whether a partition's counter failed without a record, so that it must not be run again. */
  boolean isIdle(int partition) {
    Stop stop = stops.get(partition);
    return stop != null && stop.betweenRecords();
  }

  /** The first offset that must not be taken; null when all may be. */
  @Nullable Long withheldFrom(TopicPartition partition) {
    if (!partition.topic().equals(RecordPlace.TOPIC)) {
      return null;
    }
    Stop stop = stops.get(partition.partition());
    return stop == null ? null : stop.place().offset();
  }
}
