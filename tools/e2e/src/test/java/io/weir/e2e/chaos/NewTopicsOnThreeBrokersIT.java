// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.e2e.FixedPorts;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Found by {@code ./weir chaos}: one broker knew of a new topic, the next that was asked did not.
 */
@FullSuite(reason = "three brokers as processes; ChaosIT creates topics on one")
final class NewTopicsOnThreeBrokersIT {
  private static final int PARTITIONS = 50;
  private static final short THREE = 3;

  @TempDir private Path folder;

  @Test
  void createMissing_brokersLearnOneAfterAnother_waitsForAll() throws Exception {
    FixedPorts ports = new FixedPorts();
    Network network = new Network(ports);
    List<Member> brokers = List.of();
    try {
      Brokers three = new Brokers(folder, 3, List.of(), ports, network);
      brokers = three.members();
      Member.startAll(brokers);
      try (TopicAdmin admin = TopicAdmin.connect(KafkaConnection.to(three.direct()))) {
        assertEquals(Topics.all().size(), admin.createMissingInCopies(PARTITIONS, THREE).size());
        assertEquals(List.of(), admin.lackingCopies(Topics::contains));
      }
    } finally {
      brokers.forEach(Member::close);
      network.close();
    }
  }
}
