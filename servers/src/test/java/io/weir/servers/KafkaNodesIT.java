// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.servers.testing.TestKafkaCluster;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
final class KafkaNodesIT {
  @Test
  void threeNodes_keepATopicThreeTimes_andTakeRecordsWithoutOneOfThem() throws Exception {
    try (TestKafkaCluster kafka = TestKafkaCluster.start(3);
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin
          .createTopics(List.of(new NewTopic("kept", Optional.of(1), Optional.empty())))
          .all()
          .get();
      ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "kept");
      Map<String, TopicDescription> descriptions =
          admin.describeTopics(List.of("kept")).allTopicNames().get();
      Map<ConfigResource, Config> configs = admin.describeConfigs(List.of(topic)).all().get();

      assertEquals(
          3,
          Objects.requireNonNull(descriptions.get("kept")).partitions().get(0).replicas().size());
      assertEquals(
          "2", Objects.requireNonNull(configs.get(topic)).get("min.insync.replicas").value());
      int controller = admin.describeMetadataQuorum().quorumInfo().get().leaderId();
      kafka.stop(controller % 3 + 1);
      Map<String, Object> settings =
          Map.of("bootstrap.servers", kafka.bootstrapServers(), "acks", "all");
      try (KafkaProducer<byte[], byte[]> producer =
          new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
        assertEquals(0, producer.send(new ProducerRecord<>("kept", new byte[1])).get().offset());
      }
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
}
