// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import io.weir.servers.EmbeddedKafka;
import io.weir.servers.KafkaNode;
import io.weir.servers.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;

/** Several brokers for a test, in this process, on free ports, in a folder of its own. */
public final class TestKafkaCluster implements AutoCloseable {
  private final Path folder = TempFolders.create("kafka-cluster");
  private final List<KafkaNode> nodes;
  private final Map<Integer, EmbeddedKafka> running = new ConcurrentHashMap<>();

  private TestKafkaCluster(List<KafkaNode> nodes) {
    this.nodes = nodes;
  }

  /**
   * Starts so many brokers and waits until all are up.
   *
   * @throws IOException when one cannot start
   */
  public static TestKafkaCluster start(int brokers) throws IOException {
    TestKafkaCluster cluster = new TestKafkaCluster(nodes(brokers));
    try {
      atOnce(cluster.nodes, cluster::start);
      return cluster;
    } catch (CompletionException failed) {
      cluster.close();
      throw new IOException("a broker cannot start", failed.getCause());
    }
  }

  private static List<KafkaNode> nodes(int count) throws IOException {
    String clusterId = Uuid.randomUuid().toString();
    List<Integer> controllers = new ArrayList<>();
    List<KafkaNode> nodes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      controllers.add(Ports.free());
    }
    for (int i = 1; i <= count; i++) {
      int port = Ports.free();
      nodes.add(
          new KafkaNode(
              i, clusterId, controllers, List.of(new KafkaNode.Listener("PLAINTEXT", port, port))));
    }
    return nodes;
  }

  /** A broker is up, and goes down in order, only while most of them are up: all at once. */
  private static <T> void atOnce(Collection<T> each, Consumer<T> action) {
    ExecutorService threads = Executors.newFixedThreadPool(Math.max(1, each.size()));
    try {
      CompletableFuture.allOf(
              each.stream()
                  .map(one -> CompletableFuture.runAsync(() -> action.accept(one), threads))
                  .toArray(CompletableFuture[]::new))
          .join();
    } finally {
      threads.shutdown();
    }
  }

  private void start(KafkaNode node) {
    try {
      EmbeddedKafka broker = EmbeddedKafka.start(folder.resolve("node-" + node.id()), node);
      running.put(node.id(), broker);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Addresses of all brokers, as clients take them. */
  public String bootstrapServers() {
    return nodes.stream()
        .map(node -> "127.0.0.1:" + node.listeners().get(0).port())
        .collect(Collectors.joining(","));
  }

  /**
   * Stops a broker for good. It asks the active controller for leave, so let it be another than
   * that one.
   *
   * @param node from 1
   */
  public void stop(int node) {
    Objects.requireNonNull(running.remove(node), () -> "node " + node + " does not run").close();
  }

  @Override
  public void close() {
    atOnce(running.values(), EmbeddedKafka::close);
    running.clear();
    TempFolders.delete(folder);
  }
}
