// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.servers.EmbeddedKafka;
import io.weir.servers.KafkaNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/** A node of a Kafka cluster in a separate process. A test can kill this node alone. */
public final class BrokerMain {
  /** Beginning of the line that reports that the broker is ready. */
  static final String READY = "broker is ready on port";

  /** Beginning of the line that reports how many milliseconds the broker's clock is ahead. */
  static final String AHEAD = "broker's clock is ahead by ms";

  private BrokerMain() {}

  /** Returns the arguments of {@link #main}. */
  static List<String> arguments(Path folder, KafkaNode node) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                folder.toString(),
                Integer.toString(node.id()),
                node.clusterId(),
                String.join(
                    ",", node.controllerPorts().stream().map(port -> port.toString()).toList())));
    for (KafkaNode.Listener listener : node.listeners()) {
      arguments.add(listener.name() + ":" + listener.port() + ":" + listener.advertisedPort());
    }
    return arguments;
  }

  /**
   * Runs the broker until the process ends.
   *
   * @param arguments the data folder, the node's id, the cluster's id, the controllers' ports, and
   *     each listener as name, port and advertised port
   */
  public static void main(String... arguments) throws Exception {
    List<KafkaNode.Listener> listeners = new ArrayList<>();
    for (String listener : List.of(arguments).subList(4, arguments.length)) {
      String[] parts = listener.split(":", -1);
      listeners.add(
          new KafkaNode.Listener(parts[0], Integer.parseInt(parts[1]), Integer.parseInt(parts[2])));
    }
    KafkaNode node =
        new KafkaNode(
            Integer.parseInt(arguments[1]),
            arguments[2],
            Arrays.stream(arguments[3].split(",", -1)).map(Integer::valueOf).toList(),
            listeners);
    MovableClock clock = new MovableClock();
    EmbeddedKafka kafka = EmbeddedKafka.start(Path.of(arguments[0]), node, clock);
    // the process contains only this broker, so its request to exit must take effect
    Exit.resetHaltProcedure();
    Exit.resetExitProcedure();
    Runtime.getRuntime().addShutdownHook(new Thread(kafka::close, "broker-stop"));
    System.out.println(READY + " " + kafka.port());
    obey(clock);
    Thread.currentThread().join();
  }

  /**
   * Reads a number of milliseconds from each line of the standard input, and sets the clock ahead
   * by this number.
   */
  private static void obey(MovableClock clock) throws IOException {
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String order = orders.readLine(); order != null; order = orders.readLine()) {
      clock.setAhead(Duration.ofMillis(Long.parseLong(order)));
      System.out.println(AHEAD + " " + order);
    }
  }
}
