// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.catalog.Topics;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
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
 * Which aggregator counts a partition, and which have copies of its state: as the last rebalance
 * left it, so an instance that died since is still named. Safe for threads.
 */
public final class Instances {
  private final KafkaStreams meterCore;
  private final HostInfo self;
  private volatile Collection<StreamsMetadata> lastKnown = List.of();

  /**
   * @param meterCore the application that counts
   * @param self host and port at which the others reach this process
   */
  public Instances(KafkaStreams meterCore, HostInfo self) {
    this.meterCore = meterCore;
    this.self = self;
  }

  /** The partitions this process counts, or has a copy of the state of. */
  public Set<Integer> here() {
    Set<Integer> here = counted();
    here.addAll(partitions(ThreadMetadata::standbyTasks));
    return here;
  }

  /** The partitions this process counts. */
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
      return partitions; // what is not run has nothing
    }
    return partitions;
  }

  /** Whom else to ask about a partition, in this order. */
  List<Peer> holders(int partition) {
    TopicPartition calls = new TopicPartition(Topics.CALLS.name(), partition);
    List<Peer> holders = new ArrayList<>();
    counting(partition).ifPresent(holders::add);
    for (StreamsMetadata one : others()) {
      if (one.standbyTopicPartitions().contains(calls)) {
        holders.add(Peer.of(one.hostInfo()));
      }
    }
    // a copy is kept for a while where a partition was before
    others().stream()
        .map(one -> Peer.of(one.hostInfo()))
        .filter(peer -> !holders.contains(peer))
        .forEach(holders::add);
    return holders;
  }

  /** The other instance that counts a partition; empty when this one does, or none. */
  Optional<Peer> counting(int partition) {
    TopicPartition calls = new TopicPartition(Topics.CALLS.name(), partition);
    return others().stream()
        .filter(one -> one.topicPartitions().contains(calls))
        .map(one -> Peer.of(one.hostInfo()))
        .findFirst();
  }

  /** All other instances. */
  List<Peer> peers() {
    return others().stream().map(one -> Peer.of(one.hostInfo())).toList();
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
      return without(lastKnown); // the others go on
    }
    return without(lastKnown);
  }

  private List<StreamsMetadata> without(Collection<StreamsMetadata> all) {
    return all.stream()
        .filter(one -> !one.hostInfo().equals(self) && !one.hostInfo().host().equals("unavailable"))
        .toList();
  }
}
