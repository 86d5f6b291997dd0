// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.Test;

final class CopiesTest {
  @Test
  void lacking_threeCopiesOfWhichTwoAreInStep_isNothing() {
    assertEquals(List.of(), lacking("2", 3, 3));
  }

  @Test
  void lacking_onePartitionWithFewerCopies_isReported() {
    assertEquals(List.of("calls has a replication factor of 2, not 3"), lacking("2", 3, 2));
  }

  @Test
  void lacking_minInsyncReplicasOfOne_isReported() {
    assertEquals(List.of("calls has min.insync.replicas=1, not 2"), lacking("1", 3));
  }

  private static List<String> lacking(String inSync, int... copiesOfPartitions) {
    List<TopicPartitionInfo> partitions =
        IntStream.range(0, copiesOfPartitions.length)
            .mapToObj(
                partition -> {
                  List<Node> brokers =
                      IntStream.range(0, copiesOfPartitions[partition])
                          .mapToObj(id -> new Node(id, "broker", 9092))
                          .toList();
                  return new TopicPartitionInfo(partition, brokers.get(0), brokers, brokers);
                })
            .toList();
    return Copies.lacking(
        List.of(new TopicDescription("calls", false, partitions)),
        Map.of(
            new ConfigResource(ConfigResource.Type.TOPIC, "calls"),
            new Config(List.of(new ConfigEntry("min.insync.replicas", inSync)))));
  }
}
