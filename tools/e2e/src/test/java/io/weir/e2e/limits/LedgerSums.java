// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.limits;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.topics.catalog.Topics;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Sums of a ledger of one partition, read as it grows, without keeping a row. */
final class LedgerSums implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final KafkaConsumer<byte[], byte[]> consumer;
  private long inventorRows;
  private long inventorQuantity;
  private long otherQuantity;
  private long closedThroughEpochMillis;

  LedgerSums(String bootstrapServers) {
    consumer =
        new KafkaConsumer<>(
            Map.of("bootstrap.servers", bootstrapServers, "isolation.level", "read_committed"),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer());
    List<TopicPartition> partition = List.of(new TopicPartition(Topics.LEDGER.name(), 0));
    consumer.assign(partition);
    consumer.seekToBeginning(partition);
  }

  /** Reads what has come; true when everything up to a time is closed. */
  boolean isClosedThrough(long epochMillis) throws IOException {
    for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
      JsonNode row = JSON.readTree(record.value());
      if (row.path("record_type").asText().equals("CLOSE")) {
        closedThroughEpochMillis = row.path("closed_through_ms").asLong();
      } else if (row.path("client").asText().equals(InventedCalls.INVENTOR)) {
        inventorRows++;
        inventorQuantity += row.path("quantity").asLong();
      } else {
        otherQuantity += row.path("quantity").asLong();
      }
    }
    return closedThroughEpochMillis >= epochMillis;
  }

  long inventorRows() {
    return inventorRows;
  }

  long inventorQuantity() {
    return inventorQuantity;
  }

  long otherQuantity() {
    return otherQuantity;
  }

  @Override
  public void close() {
    consumer.close();
  }
}
