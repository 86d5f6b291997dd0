// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.catalog.Topics;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsMetadata;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.errors.StreamsNotStartedException;
import org.apache.kafka.streams.state.HostInfo;

/**
 * For each partition, the aggregators that count it or have a copy of its state, according to the
 * last rebalance. The aggregators may include instances that have stopped since that rebalance.
 * Thread-safe.
 */
public final class Instances {
  private final KafkaStreams meterCore;
  private final HostInfo self;
  private volatile Collection<StreamsMetadata> lastKnown = List.of();

  /**
   * Creates an instance for the Streams application.
   *
   * @param meterCore the Streams application that counts
   * @param self host and port where other instances reach this process
   */
  public Instances(KafkaStreams meterCore, HostInfo self) {
    this.meterCore = meterCore;
    this.self = self;
  }

  /** Returns the partitions that this process counts or has a copy of. */
  public Set<Integer> here() {
    Set<Integer> here = counted();
    here.addAll(partitions(ThreadMetadata::standbyTasks));
    return here;
  }

  /** Returns the partitions that this process counts. */
  public Set<Integer> counted() {
    return partitions(ThreadMetadata::activeTasks);
  }

  private Set<Integer> partitions(Function<ThreadMetadata, Set<TaskMetadata>> tasks) {
    Set<Integer> partitions = new HashSet<>();
    try {
      for (ThreadMetadata thread : meterCore.metadataForLocalThreads()) {
        tasks.apply(thread).forEach(task -> partitions.add(task.taskId().partition()));
      }
    } catch (IllegalStateException notRunning) {
      return partitions; // an application that is not running has no partitions
    }
    return partitions;
  }

  /**
   * Returns the other instances that may have a partition. The most likely instance is the first.
   */
  List<HostInfo> holders(int partition) {
    TopicPartition calls = new TopicPartition(Topics.CALLS.name(), partition);
    Set<HostInfo> holders = new LinkedHashSet<>();
    counting(partition).ifPresent(holders::add);
    for (StreamsMetadata one : others()) {
      if (one.standbyTopicPartitions().contains(calls)) {
        holders.add(one.hostInfo());
      }
    }
    // the remaining instances follow, because a previous owner of the partition keeps a copy for
    // some time
    holders.addAll(peers());
    return List.copyOf(holders);
  }

  /**
   * Returns the other instance that currently counts the partition. Returns empty if this instance
   * or no instance counts the partition.
   */
  Optional<HostInfo> counting(int partition) {
    TopicPartition calls = new TopicPartition(Topics.CALLS.name(), partition);
    return others().stream()
        .filter(one -> one.topicPartitions().contains(calls))
        .map(StreamsMetadata::hostInfo)
        .findFirst();
  }

  /** Returns all other instances. */
  List<HostInfo> peers() {
    return others().stream().map(StreamsMetadata::hostInfo).toList();
  }

  private List<StreamsMetadata> others() {
    try {
      Collection<StreamsMetadata> all = meterCore.metadataForAllStreamsClients();
      if (!all.isEmpty()) {
        lastKnown = List.copyOf(all);
      }
    } catch (StreamsNotStartedException starting) {
      return List.of();
    } catch (IllegalStateException stopped) {
      return without(lastKnown); // the other instances are still running
    }
    return without(lastKnown);
  }

  private List<StreamsMetadata> without(Collection<StreamsMetadata> all) {
    return all.stream()
        .filter(one -> !one.hostInfo().equals(self) && !one.hostInfo().host().equals("unavailable"))
        .toList();
  }
}
