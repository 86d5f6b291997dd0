// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import io.weir.servers.testing.TopicContents;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Copies topics between two Kafkas as tools for mirrors do: partition, order, headers and times
 * kept.
 */
final class Mirror {
  private final String from;
  private final String to;

  Mirror(String from, String to) {
    this.from = from;
    this.to = to;
  }

  /** Says whose clock stamps a topic's new records at the copy's end. */
  void setTimestampType(String topic, String type) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", to))) {
      admin
          .incrementalAlterConfigs(
              Map.of(
                  new ConfigResource(ConfigResource.Type.TOPIC, topic),
                  List.of(
                      new AlterConfigOp(
                          new ConfigEntry(TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG, type),
                          AlterConfigOp.OpType.SET))))
          .all()
          .get();
    }
  }

  /** Copies all there is now, and tells how many records. */
  int copy(String topic) throws Exception {
    List<Future<?>> sent = new ArrayList<>();
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", to),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      for (ConsumerRecord<byte[], byte[]> each : TopicContents.read(from, topic)) {
        sent.add(
            producer.send(
                new ProducerRecord<>(
                    topic,
                    each.partition(),
                    each.timestamp(),
                    each.key(),
                    each.value(),
                    each.headers())));
      }
    }
    for (Future<?> each : sent) {
      each.get();
    }
    return sent.size();
  }
}
