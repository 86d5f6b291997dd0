// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/**
 * A KRaft broker in this JVM, alone or of a cluster, over a folder that it may be started on again,
 * also after a {@code kill -9}. Loopback only; for a laptop, a demo and tests.
 */
public final class EmbeddedKafka implements AutoCloseable {
  private static final int FREE_PORT_ATTEMPTS = 5;

  private final KafkaRaftServer server;
  private final int port;

  private EmbeddedKafka(KafkaRaftServer server, int port) {
    this.server = server;
    this.port = port;
  }

  /**
   * Starts a broker.
   *
   * @param folder its data; formatted when empty
   * @param port the port it listens on; 0 takes any free one
   */
  public static EmbeddedKafka start(Path folder, int port) throws IOException {
    if (port != 0) {
      Ports.requireFree(port, "Kafka", "WEIR_KAFKA_PORT");
    }
    Exception last = new IllegalStateException("not tried");
    for (int attempt = 0; attempt < (port == 0 ? FREE_PORT_ATTEMPTS : 1); attempt++) {
      int brokerPort = port == 0 ? Ports.free() : port;
      try {
        KafkaNode node = KafkaNode.alone(Uuid.randomUuid().toString(), brokerPort, Ports.free());
        return new EmbeddedKafka(startOnce(folder, node, Map.of()), brokerPort);
      } catch (Exception failed) {
        last = failed;
      }
    }
    throw new ServerStartException("the embedded Kafka broker did not start: " + last, last);
  }

  /**
   * Starts a node of a cluster; returns when most of its nodes run, and this one is among them.
   *
   * @param folder its data; formatted when empty
   */
  public static EmbeddedKafka start(Path folder, KafkaNode node) throws IOException {
    return start(folder, node, Map.of());
  }

  /** Starts a node of a cluster with other settings than it would have by itself. */
  static EmbeddedKafka start(Path folder, KafkaNode node, Map<String, String> others)
      throws IOException {
    try {
      return new EmbeddedKafka(startOnce(folder, node, others), node.listeners().get(0).port());
    } catch (Exception failed) {
      throw new ServerStartException(
          "Kafka node " + node.id() + " did not start: " + failed, failed);
    }
  }

  /**
   * Kafka ends the JVM on a port clash or a broken log; here that is an exception of its caller.
   */
  private static void refuseToEndTheProcess(int status, String message) {
    throw new IllegalStateException("Kafka asked to end the process (" + status + "): " + message);
  }

  private static KafkaRaftServer startOnce(Path folder, KafkaNode node, Map<String, String> others)
      throws Exception {
    Exit.setHaltProcedure(EmbeddedKafka::refuseToEndTheProcess);
    Exit.setExitProcedure(EmbeddedKafka::refuseToEndTheProcess);
    Files.createDirectories(folder);
    if (!Files.exists(folder.resolve("meta.properties"))) {
      new Formatter()
          .setPrintStream(
              new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8))
          .setClusterId(node.clusterId())
          .setNodeId(node.id())
          .addDirectory(folder.toString())
          .setMetadataLogDirectory(folder.toString())
          .setControllerListenerName("CONTROLLER")
          .setIgnoreFormatted(false)
          .run();
    }
    Map<String, String> properties = new HashMap<>(node.properties(folder));
    properties.putAll(others);
    KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(properties, false), Time.SYSTEM);
    try {
      server.startup();
    } catch (RuntimeException failed) {
      server.shutdown();
      throw failed;
    }
    return server;
  }

  /** What {@code bootstrap.servers} takes. */
  public String bootstrapServers() {
    return "127.0.0.1:" + port;
  }

  /** The port it listens on. */
  public int port() {
    return port;
  }

  /**
   * Stops the broker in order; its data stay. In a cluster it hands its partitions over first; when
   * most of the nodes are gone, nobody can take them, and it waits for that for five minutes.
   */
  @Override
  public void close() {
    server.shutdown();
    server.awaitShutdown();
  }
}
