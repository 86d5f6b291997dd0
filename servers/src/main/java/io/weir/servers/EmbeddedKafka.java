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
 * A single-node KRaft broker in this JVM, over a folder that it may be started on again, also after
 * a {@code kill -9}. Loopback only; for a laptop, a demo and tests.
 */
public final class EmbeddedKafka implements AutoCloseable {
  private static final int NODE_ID = 1;

  /** A restart after a kill waits until the broker's last session is over; keep that short. */
  private static final int SESSION_TIMEOUT_MILLIS = 3_000;

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
    Exit.setHaltProcedure(EmbeddedKafka::refuseToEndTheProcess);
    Exit.setExitProcedure(EmbeddedKafka::refuseToEndTheProcess);
    Exception last = new IllegalStateException("not tried");
    for (int attempt = 0; attempt < (port == 0 ? FREE_PORT_ATTEMPTS : 1); attempt++) {
      int brokerPort = port == 0 ? Ports.free() : port;
      try {
        return new EmbeddedKafka(startOnce(folder, brokerPort, Ports.free()), brokerPort);
      } catch (Exception failed) {
        last = failed;
      }
    }
    throw new ServerStartException("the embedded Kafka broker did not start: " + last, last);
  }

  /**
   * Kafka ends the JVM on a port clash or a broken log; here that is an exception of its caller.
   */
  private static void refuseToEndTheProcess(int status, String message) {
    throw new IllegalStateException("Kafka asked to end the process (" + status + "): " + message);
  }

  private static KafkaRaftServer startOnce(Path folder, int port, int controllerPort)
      throws Exception {
    Files.createDirectories(folder);
    if (!Files.exists(folder.resolve("meta.properties"))) {
      new Formatter()
          .setPrintStream(
              new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8))
          .setClusterId(Uuid.randomUuid().toString())
          .setNodeId(NODE_ID)
          .addDirectory(folder.toString())
          .setMetadataLogDirectory(folder.toString())
          .setControllerListenerName("CONTROLLER")
          .setIgnoreFormatted(false)
          .run();
    }
    KafkaRaftServer server =
        new KafkaRaftServer(
            new KafkaConfig(properties(folder, port, controllerPort), false), Time.SYSTEM);
    try {
      server.startup();
    } catch (RuntimeException failed) {
      server.shutdown();
      throw failed;
    }
    return server;
  }

  private static Map<String, String> properties(Path folder, int port, int controllerPort) {
    Map<String, String> properties = new HashMap<>();
    properties.put("process.roles", "broker,controller");
    properties.put("node.id", Integer.toString(NODE_ID));
    properties.put("controller.quorum.voters", NODE_ID + "@127.0.0.1:" + controllerPort);
    properties.put(
        "listeners", "PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + controllerPort);
    properties.put("advertised.listeners", "PLAINTEXT://127.0.0.1:" + port);
    properties.put("controller.listener.names", "CONTROLLER");
    properties.put("inter.broker.listener.name", "PLAINTEXT");
    properties.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT");
    properties.put("log.dirs", folder.toString());
    properties.put("auto.create.topics.enable", "false");
    properties.put("offsets.topic.replication.factor", "1");
    properties.put("offsets.topic.num.partitions", "4");
    properties.put("transaction.state.log.replication.factor", "1");
    properties.put("transaction.state.log.min.isr", "1");
    properties.put("transaction.state.log.num.partitions", "4");
    properties.put("share.coordinator.state.topic.replication.factor", "1");
    properties.put("share.coordinator.state.topic.min.isr", "1");
    properties.put("group.initial.rebalance.delay.ms", "0");
    properties.put("broker.session.timeout.ms", Integer.toString(SESSION_TIMEOUT_MILLIS));
    properties.put("broker.heartbeat.interval.ms", Integer.toString(SESSION_TIMEOUT_MILLIS / 3));
    properties.put("log.cleaner.dedupe.buffer.size", Integer.toString(8 * 1024 * 1024));
    return properties;
  }

  /** What {@code bootstrap.servers} takes. */
  public String bootstrapServers() {
    return "127.0.0.1:" + port;
  }

  /** The port it listens on. */
  public int port() {
    return port;
  }

  /** Stops the broker in order; its data stay. */
  @Override
  public void close() {
    server.shutdown();
    server.awaitShutdown();
  }
}
