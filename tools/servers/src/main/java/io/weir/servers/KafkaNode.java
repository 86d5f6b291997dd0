// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The configuration of one node of a KRaft cluster. The node is both broker and controller. The
 * node listens on loopback only. In a cluster of at least three nodes, all topics have three
 * replicas, and {@code min.insync.replicas} is 2. In a smaller cluster, topics have one replica.
 * Immutable.
 *
 * @param id the node's id, from 1
 * @param clusterId a Kafka {@code Uuid}, the same for every node of a cluster
 * @param controllerPorts the ports on which the controllers of node 1, node 2, … listen
 * @param listeners the listeners for clients, at least one; brokers use the first listener for
 *     inter-broker connections
 */
public record KafkaNode(
    int id, String clusterId, List<Integer> controllerPorts, List<Listener> listeners) {
  /**
   * Session timeout of a broker. The timeout is short, because a restart after a kill waits until
   * the broker's previous session has expired.
   */
  private static final int SESSION_TIMEOUT_MILLIS = 3_000;

  private static final int MOST_REPLICAS = 3;

  private static final int HANDLER_THREADS = 2;

  /**
   * A listener of a broker. A client that connects to a listener receives the addresses of the
   * listeners with the same name on all brokers.
   *
   * @param name the name in upper case, which must be the same on every node; not {@code
   *     CONTROLLER}
   * @param port the port on which the broker listens
   * @param advertisedPort the port that the broker advertises to clients: {@code port}, or the port
   *     of a proxy
   */
  public record Listener(String name, int port, int advertisedPort) {}

  public KafkaNode {
    controllerPorts = List.copyOf(controllerPorts);
    listeners = List.copyOf(listeners);
    if (id < 1 || id > controllerPorts.size()) {
      throw new IllegalArgumentException(
          "id must be between 1 and " + controllerPorts.size() + ", but is " + id);
    }
    if (listeners.isEmpty()) {
      throw new IllegalArgumentException("listeners must have at least 1 element, but is empty");
    }
  }

  /** Returns the configuration of a cluster with a single node. */
  static KafkaNode alone(String clusterId, int port, int controllerPort) {
    return new KafkaNode(
        1, clusterId, List.of(controllerPort), List.of(new Listener("PLAINTEXT", port, port)));
  }

  Map<String, String> properties(Path folder) {
    int replicas = controllerPorts.size() < MOST_REPLICAS ? 1 : MOST_REPLICAS;
    int inSync = replicas / 2 + 1;
    List<String> voters = new ArrayList<>();
    for (int i = 0; i < controllerPorts.size(); i++) {
      voters.add((i + 1) + "@127.0.0.1:" + controllerPorts.get(i));
    }
    List<String> addresses = new ArrayList<>();
    List<String> advertised = new ArrayList<>();
    List<String> protocols = new ArrayList<>(List.of("CONTROLLER:PLAINTEXT"));
    for (Listener listener : listeners) {
      addresses.add(listener.name() + "://127.0.0.1:" + listener.port());
      advertised.add(listener.name() + "://127.0.0.1:" + listener.advertisedPort());
      protocols.add(listener.name() + ":PLAINTEXT");
    }
    addresses.add("CONTROLLER://127.0.0.1:" + controllerPorts.get(id - 1));
    Map<String, String> properties = new HashMap<>();
    properties.put("process.roles", "broker,controller");
    properties.put("node.id", Integer.toString(id));
    properties.put("controller.quorum.voters", String.join(",", voters));
    properties.put("listeners", String.join(",", addresses));
    properties.put("advertised.listeners", String.join(",", advertised));
    properties.put("controller.listener.names", "CONTROLLER");
    properties.put("inter.broker.listener.name", listeners.get(0).name());
    properties.put("listener.security.protocol.map", String.join(",", protocols));
    properties.put("log.dirs", folder.toString());
    properties.put("auto.create.topics.enable", "false");
    properties.put("default.replication.factor", Integer.toString(replicas));
    properties.put("min.insync.replicas", Integer.toString(inSync));
    properties.put("offsets.topic.replication.factor", Integer.toString(replicas));
    properties.put("offsets.topic.num.partitions", "4");
    properties.put("transaction.state.log.replication.factor", Integer.toString(replicas));
    properties.put("transaction.state.log.min.isr", Integer.toString(inSync));
    properties.put("transaction.state.log.num.partitions", "4");
    properties.put("share.coordinator.state.topic.replication.factor", Integer.toString(replicas));
    properties.put("share.coordinator.state.topic.min.isr", Integer.toString(inSync));
    properties.put("group.initial.rebalance.delay.ms", "0");
    // few threads, because an idle thread wakes up three times a second
    properties.put("num.io.threads", Integer.toString(HANDLER_THREADS));
    properties.put("broker.session.timeout.ms", Integer.toString(SESSION_TIMEOUT_MILLIS));
    properties.put("broker.heartbeat.interval.ms", Integer.toString(SESSION_TIMEOUT_MILLIS / 3));
    properties.put("log.cleaner.dedupe.buffer.size", Integer.toString(8 * 1024 * 1024));
    if (listeners.size() > 1) {
      properties.put("num.network.threads", "1"); // per listener
    }
    return properties;
  }
}
