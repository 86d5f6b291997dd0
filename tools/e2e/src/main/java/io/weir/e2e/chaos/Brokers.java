// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.FixedPorts;
import io.weir.e2e.WeirProcess;
import io.weir.servers.KafkaNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.kafka.common.Uuid;

/**
 * The brokers of a cluster. Every member of the cluster, including each broker, reaches a broker
 * through a relay of its own. The audit connects without a relay.
 */
final class Brokers {
  private static final String PEERS = "PEERS";
  private static final String DIRECT = "DIRECT";

  private final List<Member> members = new ArrayList<>();
  private final List<List<KafkaNode.Listener>> listeners = new ArrayList<>();

  /**
   * Creates the brokers, without starting them.
   *
   * @param clients names of the members that connect through a relay
   */
  Brokers(Path folder, int count, List<String> clients, FixedPorts ports, Network network) {
    String clusterId = Uuid.randomUuid().toString();
    List<Integer> controllers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      controllers.add(ports.next());
    }
    for (int i = 0; i < count; i++) {
      String name = name(i);
      List<KafkaNode.Listener> of = new ArrayList<>();
      int peers = ports.next();
      of.add(new KafkaNode.Listener(PEERS, peers, network.connect("brokers", name, peers)));
      int direct = ports.next();
      of.add(new KafkaNode.Listener(DIRECT, direct, direct));
      for (String client : clients) {
        int port = ports.next();
        int relayed = network.connect(client, name, port);
        of.add(new KafkaNode.Listener(listenerName(client), port, relayed));
      }
      listeners.add(of);
      KafkaNode node = new KafkaNode(i + 1, clusterId, controllers, of);
      String[] arguments = BrokerMain.arguments(folder.resolve(name), node).toArray(String[]::new);
      members.add(
          new Member(
              name,
              overrides ->
                  WeirProcess.startMain(folder, overrides, BrokerMain.class.getName(), arguments),
              BrokerMain.READY));
    }
  }

  private static String name(int number) {
    return "broker-" + number;
  }

  private static String listenerName(String client) {
    return client.toUpperCase(Locale.ROOT).replace("-", "");
  }

  List<Member> members() {
    return List.copyOf(members);
  }

  /** Returns the addresses of the brokers without a relay. */
  String direct() {
    return bootstrap(DIRECT);
  }

  /** Returns the addresses at which a member of the cluster reaches the brokers. */
  String of(String client) {
    return bootstrap(listenerName(client));
  }

  private String bootstrap(String name) {
    List<String> addresses = new ArrayList<>();
    for (List<KafkaNode.Listener> of : listeners) {
      for (KafkaNode.Listener listener : of) {
        if (listener.name().equals(name)) {
          addresses.add("127.0.0.1:" + listener.advertisedPort());
        }
      }
    }
    return String.join(",", addresses);
  }
}
