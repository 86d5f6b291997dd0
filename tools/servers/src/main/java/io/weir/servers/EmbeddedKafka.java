// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.security.plain.PlainLoginModule;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.bootstrap.BootstrapDirectory;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.common.MetadataVersion;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A KRaft broker in this JVM, either alone or as a node of a cluster. The broker listens on
 * loopback only. A caller can start the broker again with the same folder, even after a {@code kill
 * -9}. Intended for development, demos and tests.
 */
public final class EmbeddedKafka implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedKafka.class);
  private static final int FREE_PORT_ATTEMPTS = 5;

  /**
   * Maximum duration of a stop. Without a limit, a broker with a full disk, or a node without the
   * rest of its cluster, might never stop.
   */
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(20);

  /**
   * The reason why a broker in this JVM requested the exit of the process; empty if no broker did.
   */
  private static volatile String lastFailure = "";

  private static final String USER = "weir";
  private static final String MECHANISM = "PLAIN";

  private final KafkaRaftServer server;
  private final int port;
  private final @Nullable String password;

  private EmbeddedKafka(KafkaRaftServer server, int port, @Nullable String password) {
    this.server = server;
    this.port = port;
    this.password = password;
  }

  /**
   * Starts a single broker.
   *
   * @param folder data folder; formatted if empty
   * @param port the port on which the broker listens; 0 selects a free port
   * @throws ServerStartException if the port is in use or the broker does not start
   */
  public static EmbeddedKafka start(Path folder, int port) throws IOException {
    return start(folder, port, null);
  }

  /**
   * Starts a single broker. Other users of this machine can connect, but need the password.
   *
   * @param folder data folder; formatted if empty
   * @param port the port on which the broker listens; 0 selects a free port
   * @param password password for the clients, of letters and digits; null if all users may use the
   *     broker
   * @throws ServerStartException if the port is in use or the broker does not start
   */
  public static EmbeddedKafka start(Path folder, int port, @Nullable String password)
      throws IOException {
    Map<String, String> security = password == null ? Map.of() : brokerSecurity(password);
    if (port != 0) {
      Ports.requireFree(port, "Kafka", "WEIR_KAFKA_PORT");
    }
    Exception last = new IllegalStateException("not tried");
    for (int attempt = 0; attempt < (port == 0 ? FREE_PORT_ATTEMPTS : 1); attempt++) {
      int brokerPort = port == 0 ? Ports.free() : port;
      try {
        KafkaNode node =
            KafkaNode.alone(Uuid.randomUuid().toString(), brokerPort, Ports.freeForController());
        return new EmbeddedKafka(
            startOnce(folder, node, security, Time.SYSTEM), brokerPort, password);
      } catch (ServerStartException refused) {
        throw refused;
      } catch (Exception failed) {
        last = failed;
      }
    }
    throw new ServerStartException("the embedded Kafka broker did not start: " + last, last);
  }

  /**
   * Starts a node of a cluster. Returns when this node and a majority of the cluster's nodes run.
   *
   * @param folder data folder; formatted if empty
   * @throws ServerStartException if the node does not start
   */
  public static EmbeddedKafka start(Path folder, KafkaNode node) throws IOException {
    return start(folder, node, Map.of());
  }

  /**
   * Starts a node of a cluster with its own clock, which simulates a machine with a wrong clock.
   *
   * @param folder data folder; formatted if empty
   * @param clock the clock that timestamps records and expires sessions; must be thread-safe
   * @throws ServerStartException if the node does not start
   */
  public static EmbeddedKafka start(Path folder, KafkaNode node, Time clock) throws IOException {
    return start(folder, node, Map.of(), clock);
  }

  /**
   * Starts a node of a cluster with Kafka settings that override the node's settings, such as an
   * authorizer.
   *
   * @param folder data folder; formatted if empty
   * @throws ServerStartException if the node does not start
   */
  public static EmbeddedKafka start(Path folder, KafkaNode node, Map<String, String> others)
      throws IOException {
    return start(folder, node, others, Time.SYSTEM);
  }

  private static EmbeddedKafka start(
      Path folder, KafkaNode node, Map<String, String> others, Time clock) throws IOException {
    try {
      return new EmbeddedKafka(
          startOnce(folder, node, others, clock), node.listeners().get(0).port(), null);
    } catch (Exception failed) {
      throw new ServerStartException(
          "Kafka node " + node.id() + " did not start: " + failed, failed);
    }
  }

  /**
   * Prevents Kafka from exiting the JVM, for example after a port conflict or with a damaged log.
   * Instead of an exit, sets {@link #failure} and throws an exception.
   */
  private static void refuseToEndTheProcess(int status, @Nullable String message) {
    String said = message == null ? "see the broker's log" : message;
    lastFailure = "the broker requested the exit of the process (" + status + "): " + said;
    throw new IllegalStateException(
        "Kafka requested the exit of the process (" + status + "): " + said);
  }

  private static KafkaRaftServer startOnce(
      Path folder, KafkaNode node, Map<String, String> others, Time clock) throws Exception {
    lastFailure = "";
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
    refuseDataOfNewerKafka(folder);
    Map<String, String> properties = new HashMap<>(node.properties(folder));
    properties.putAll(others);
    KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(properties, false), clock);
    try {
      server.startup();
    } catch (RuntimeException failed) {
      server.shutdown();
      throw failed;
    }
    return server;
  }

  /**
   * Refuses data of a newer Kafka version. Otherwise the broker would request the exit of the
   * process, and report a misleading cause.
   */
  private static void refuseDataOfNewerKafka(Path folder) throws Exception {
    int written =
        new BootstrapDirectory(folder.toString()).read().featureLevel(MetadataVersion.FEATURE_NAME);
    int known = MetadataVersion.latestProduction().featureLevel();
    if (written > known) {
      throw new ServerStartException(
          ("a newer version of Kafka wrote the data in %s (metadata.version is %d, but must be "
                  + "at most %d); set WEIR_DATA to another folder")
              .formatted(folder, written, known));
    }
  }

  /**
   * Returns the reason why the broker no longer works, such as a full disk; empty while it works.
   * Kafka does not report which broker failed. Therefore, if a JVM runs several brokers, this
   * method returns a failure of any of them.
   */
  public String failure() {
    return lastFailure;
  }

  private static Map<String, String> brokerSecurity(String password) {
    String login = login(password) + " user_" + USER + "=\"" + password + "\";";
    Map<String, String> security = new HashMap<>();
    security.put(
        "listener.security.protocol.map", "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT");
    security.put("sasl.enabled.mechanisms", MECHANISM);
    security.put("sasl.mechanism.inter.broker.protocol", MECHANISM);
    security.put("sasl.mechanism.controller.protocol", MECHANISM);
    security.put("listener.name.plaintext.plain.sasl.jaas.config", login);
    security.put("listener.name.controller.plain.sasl.jaas.config", login);
    return security;
  }

  private static String login(String password) {
    return PlainLoginModule.class.getName()
        + " required username=\""
        + USER
        + "\" password=\""
        + password
        + '"';
  }

  /** Returns the client properties for authentication; empty without a password. */
  public Map<String, String> clientProperties() {
    return password == null
        ? Map.of()
        : Map.of(
            "security.protocol",
            "SASL_PLAINTEXT",
            "sasl.mechanism",
            MECHANISM,
            "sasl.jaas.config",
            login(password) + ';');
  }

  /** Returns the value for {@code bootstrap.servers}. */
  public String bootstrapServers() {
    return "127.0.0.1:" + port;
  }

  /** Returns the port on which the broker listens. */
  public int port() {
    return port;
  }

  /**
   * Shuts the broker down; the data remain. A node of a cluster first transfers the leadership of
   * its partitions. The transfer needs a majority of the nodes. Returns after at most 20 s. If the
   * broker is still running then, for example because its disk is full, it ends with the process.
   */
  @Override
  public void close() {
    Thread stop =
        new Thread(
            () -> {
              server.shutdown();
              server.awaitShutdown();
            },
            "weir-kafka-stop");
    stop.setDaemon(true);
    stop.start();
    try {
      stop.join(STOP_TIMEOUT.toMillis());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    if (stop.isAlive()) {
      LOG.warn("kafka_stop_slow limit_ms={}", STOP_TIMEOUT.toMillis());
    }
  }
}
