// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.junit.jupiter.api.Test;

final class ClientPartitionerTest {
  @Test
  void partition_ofAnyClient_isWhatAKafkaProducerWouldChoose() {
    for (int i = 0; i < 1_000; i++) {
      String client = "client-" + i + "-ü";
      byte[] key = client.getBytes(StandardCharsets.UTF_8);
      assertEquals(
          BuiltInPartitioner.partitionForKey(key, 12), ClientPartitioner.partition(client, 12));
    }
  }

  @Test
  void partition_ofManyClients_isSpread() {
    int[] counts = new int[12];
    for (int i = 0; i < 12_000; i++) {
      counts[ClientPartitioner.partition("client-" + i, 12)]++;
    }
    for (int count : counts) {
      assertTrue(count > 800 && count < 1_200, () -> "clients a partition: " + count);
    }
  }
}
