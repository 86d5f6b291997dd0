// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.topology.Rebalances;
import io.weir.aggregator.topology.StoppedPartitions;
import io.weir.limits.ZoneData;
import io.weir.topics.catalog.Topics;
import io.weir.topics.problem.ProblemReason;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.streams.KafkaStreams.State;

/**
 * The readiness check. The aggregator is ready if it can report the usage of every client, from its
 * own table or from another aggregator. A rebalance does not make the aggregator unready.
 * Thread-safe.
 */
final class Readiness {
  private final UsageTable table;
  private final Instances instances;
  private final Rebalances rebalances;
  private final StoppedPartitions stopped;
  private final int partitions;

  Readiness(
      UsageTable table,
      Instances instances,
      Rebalances rebalances,
      StoppedPartitions stopped,
      int partitions) {
    this.stopped = stopped;
    this.table = table;
    this.instances = instances;
    this.rebalances = rebalances;
    this.partitions = partitions;
  }

  /**
   * Returns the members of the response.
   *
   * @throws ProblemException if the aggregator is not ready; the problem contains the reason
   */
  Map<String, Object> check() {
    State state = rebalances.state();
    if (state.hasStartedOrFinishedShuttingDown()) {
      throw new ProblemException(
          ProblemReason.NOT_READY, "the Streams application has stopped; see the aggregator's log");
    }
    List<Integer> elsewhere = new ArrayList<>();
    for (int partition = 0; partition < partitions; partition++) {
      if (!table.isHere(partition)) {
        elsewhere.add(partition);
      }
    }
    if (!elsewhere.isEmpty() && instances.peers().isEmpty()) {
      throw new ProblemException(
          ProblemReason.NOT_READY, "no known aggregator has partitions " + elsewhere);
    }
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("status", "ready");
    members.put("counting", state.name().toLowerCase(Locale.ROOT));
    members.put("catching_up", catchingUp());
    members.put("answered_elsewhere", elsewhere);
    members.put("zone_data", ZoneData.version());
    members.put("stopped", stopped.all().stream().map(Readiness::members).toList());
    return members;
  }

  private static Map<String, Object> members(StoppedPartitions.Stop stop) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("topic", Topics.CALLS.name());
    members.put("partition", stop.place().partition());
    members.put("offset", stop.place().offset());
    members.put("failure", stop.failure());
    return members;
  }

  /** Returns the partitions that are placed on this instance and are not yet read to their end. */
  private List<Integer> catchingUp() {
    return instances.here().stream().filter(one -> !table.isHere(one)).sorted().toList();
  }
}
