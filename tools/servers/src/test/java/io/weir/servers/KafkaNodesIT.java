// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KafkaNodesIT {
  /** So that the last node of a cluster that is closed waits for nobody. */
  private static final Map<String, String> NOTHING_IS_HANDED_OVER =
      Map.of("controlled.shutdown.enable", "false");

  @TempDir Path folder;

  @Test
  void threeNodes_keepATopicThreeTimes_andTakeRecordsWithoutOneOfThem() throws Exception {
    List<KafkaNode> nodes = nodes(3);
    List<EmbeddedKafka> kafka = startAll(nodes);
    Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap(nodes), "acks", "all");
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap(nodes)))) {
      // asked a moment later, a node may not know the topic yet
      CreateTopicsResult created =
          admin.createTopics(List.of(new NewTopic("kept", Optional.of(1), Optional.empty())));

      assertEquals(3, created.replicationFactor("kept").get());
      assertEquals("2", created.config("kept").get().get("min.insync.replicas").value());
      kafka.remove(2).close();
      try (KafkaProducer<byte[], byte[]> producer =
          new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
        assertEquals(0, producer.send(new ProducerRecord<>("kept", new byte[1])).get().offset());
      }
    } finally {
      kafka.parallelStream().forEach(EmbeddedKafka::close);
    }
  }

  @Test
  void node_withAnIdBeyondTheControllers_isRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new KafkaNode(
                2, "cluster", List.of(1), List.of(new KafkaNode.Listener("PLAINTEXT", 2, 2))));
  }

  private static List<KafkaNode> nodes(int count) throws Exception {
    String clusterId = Uuid.randomUuid().toString();
    List<Integer> controllers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      controllers.add(Ports.freeForController());
    }
    List<KafkaNode> nodes = new ArrayList<>();
    for (int i = 1; i <= count; i++) {
      int port = Ports.free();
      nodes.add(
          new KafkaNode(
              i, clusterId, controllers, List.of(new KafkaNode.Listener("PLAINTEXT", port, port))));
    }
    return nodes;
  }

  /** At once: a node is up only when most of them are. */
  private List<EmbeddedKafka> startAll(List<KafkaNode> nodes) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(nodes.size());
    try {
      List<Future<EmbeddedKafka>> starting = new ArrayList<>();
      for (KafkaNode node : nodes) {
        starting.add(
            threads.submit(
                () ->
                    EmbeddedKafka.start(
                        folder.resolve("node-" + node.id()), node, NOTHING_IS_HANDED_OVER)));
      }
      List<EmbeddedKafka> started = new ArrayList<>();
      for (Future<EmbeddedKafka> start : starting) {
        started.add(start.get());
      }
      return started;
    } finally {
      threads.shutdown();
    }
  }

  private static String bootstrap(List<KafkaNode> nodes) {
    return String.join(
        ",", nodes.stream().map(node -> "127.0.0.1:" + node.listeners().get(0).port()).toList());
  }
}
