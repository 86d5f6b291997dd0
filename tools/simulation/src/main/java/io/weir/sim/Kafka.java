// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** The broker, with its clock, its topics, and the nodes that cannot reach it. */
final class Kafka {
  private final SimClock clock;
  private final List<SimulatedLog> calls;
  private final List<SimulatedLog> ledger;
  private final List<SimulatedLog> states;
  private final List<SimulatedLog> corrections;
  private final List<SimulatedLog> settlements;
  private final List<SimulatedLog> quarantine;
  private final Set<String> cutOff = new HashSet<>();
  private boolean away;

  Kafka(SimClock clock, int partitions) {
    this.clock = clock;
    this.calls = topic(partitions);
    this.ledger = topic(partitions);
    this.states = topic(partitions);
    this.corrections = topic(partitions);
    this.settlements = topic(partitions);
    this.quarantine = topic(partitions);
  }

  private List<SimulatedLog> topic(int partitions) {
    return new ArrayList<>(
        IntStream.range(0, partitions).mapToObj(partition -> new SimulatedLog(clock)).toList());
  }

  SimClock clock() {
    return clock;
  }

  int partitions() {
    return calls.size();
  }

  SimulatedLog calls(int partition) {
    return calls.get(partition);
  }

  SimulatedLog ledger(int partition) {
    return ledger.get(partition);
  }

  SimulatedLog states(int partition) {
    return states.get(partition);
  }

  SimulatedLog corrections(int partition) {
    return corrections.get(partition);
  }

  SimulatedLog settlements(int partition) {
    return settlements.get(partition);
  }

  SimulatedLog quarantine(int partition) {
    return quarantine.get(partition);
  }

  boolean isAway() {
    return away;
  }

  boolean isReachedBy(String node) {
    return !away && !cutOff.contains(node);
  }

  void setAway(boolean nowAway) {
    away = nowAway;
  }

  void cutOff(String node, boolean cut) {
    if (cut) {
      cutOff.add(node);
    } else {
      cutOff.remove(node);
    }
  }
}
