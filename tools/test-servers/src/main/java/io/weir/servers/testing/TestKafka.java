// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import io.weir.servers.EmbeddedKafka;
import io.weir.servers.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import org.testcontainers.containers.FixedHostPortGenericContainer;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A real single-node Kafka broker for a test, on a free port. Not thread-safe. */
public abstract sealed class TestKafka implements AutoCloseable {
  /** Starts a broker for this test only, in this process or as a container. */
  public static TestKafka start() {
    return Containers.requested() ? new InContainer() : new InProcess();
  }

  /**
   * Borrows the broker that the tests of this JVM share. The broker then has no topics and no
   * consumer groups. {@link #close} returns the broker. The first call starts the broker, and the
   * broker ends with the JVM. If a test must stop a broker, it must start its own broker.
   *
   * @throws IllegalStateException if another test has borrowed the broker
   */
  public static TestKafka borrow() {
    return SharedKafka.lend();
  }

  /** Returns the value for {@code bootstrap.servers}, which {@link #restart} does not change. */
  public abstract String bootstrapServers();

  /**
   * Makes the broker unavailable; its data remain. If the broker is in this process, this method
   * shuts it down. If the broker is a container, this method pauses it, because not every Kafka
   * image can restart with its own folder.
   */
  public abstract void stop();

  /**
   * Makes the broker available again on the same port with the same data. The broker must not be
   * running.
   */
  public abstract void restart();

  @Override
  public abstract void close();

  private static final class InProcess extends TestKafka {
    private final Path folder = TempFolders.create("kafka");
    private EmbeddedKafka kafka;
    private boolean running;

    InProcess() {
      kafka = start(0);
    }

    private EmbeddedKafka start(int port) {
      try {
        EmbeddedKafka started = EmbeddedKafka.start(folder, port);
        running = true;
        return started;
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
    }

    @Override
    public String bootstrapServers() {
      return kafka.bootstrapServers();
    }

    @Override
    public void stop() {
      kafka.close();
      running = false;
    }

    @Override
    public void restart() {
      kafka = start(kafka.port());
    }

    @Override
    public void close() {
      if (running) {
        stop();
      }
      TempFolders.delete(folder);
    }
  }

  /** The shared broker of this JVM while a test has borrowed it. */
  static final class Borrowed extends TestKafka {
    private final TestKafka shared;

    Borrowed(TestKafka shared) {
      this.shared = shared;
    }

    @Override
    public String bootstrapServers() {
      return shared.bootstrapServers();
    }

    @Override
    public void stop() {
      throw new IllegalStateException(
          "a test must not stop the shared broker; use start() instead");
    }

    @Override
    public void restart() {
      throw new IllegalStateException(
          "a test must not stop the shared broker; use start() instead");
    }

    @Override
    public void close() {
      SharedKafka.takeBack(this);
    }
  }

  private static final class InContainer extends TestKafka {
    private static final String IMAGE = "apache/kafka:4.2.2";

    private final GenericContainer<?> container;
    private final int hostPort;

    @SuppressWarnings({"deprecation", "resource"}) // the broker must advertise the mapped port
    InContainer() {
      try {
        hostPort = Ports.free();
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
      container =
          new FixedHostPortGenericContainer<>(IMAGE)
              .withFixedExposedPort(hostPort, hostPort)
              .withEnv(environment(hostPort))
              .waitingFor(Wait.forLogMessage(".*Kafka Server started.*", 1))
              .withStartupTimeout(Containers.START_TIMEOUT);
      container.start();
    }

    private static Map<String, String> environment(int port) {
      return Map.ofEntries(
          Map.entry("KAFKA_PROCESS_ROLES", "broker,controller"),
          Map.entry("KAFKA_NODE_ID", "1"),
          Map.entry("KAFKA_CONTROLLER_QUORUM_VOTERS", "1@localhost:9093"),
          Map.entry("KAFKA_LISTENERS", "PLAINTEXT://:" + port + ",CONTROLLER://:9093"),
          Map.entry("KAFKA_ADVERTISED_LISTENERS", "PLAINTEXT://127.0.0.1:" + port),
          Map.entry("KAFKA_CONTROLLER_LISTENER_NAMES", "CONTROLLER"),
          Map.entry("KAFKA_INTER_BROKER_LISTENER_NAME", "PLAINTEXT"),
          Map.entry(
              "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"),
          Map.entry("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false"),
          Map.entry("KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR", "1"),
          Map.entry("KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR", "1"),
          Map.entry("KAFKA_TRANSACTION_STATE_LOG_MIN_ISR", "1"),
          Map.entry("KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS", "0"));
    }

    @Override
    public String bootstrapServers() {
      return "127.0.0.1:" + hostPort;
    }

    @Override
    public void stop() {
      container.getDockerClient().pauseContainerCmd(container.getContainerId()).exec();
    }

    @Override
    public void restart() {
      container.getDockerClient().unpauseContainerCmd(container.getContainerId()).exec();
    }

    @Override
    public void close() {
      container.stop();
    }
  }
}
