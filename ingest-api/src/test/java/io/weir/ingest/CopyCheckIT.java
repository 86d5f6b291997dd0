// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.Ports;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A node over a broker that keeps the calls once starts only when that is meant. */
final class CopyCheckIT {
  private static IngestConfig config(String kafka, String singleCopy) {
    return IngestConfig.of(
        Map.of(
            "WEIR_KAFKA", kafka,
            "WEIR_REDIS", "redis://127.0.0.1:1",
            "WEIR_SINGLE_COPY", singleCopy));
  }

  @Test
  void require_singleCopy_isRefusedUnlessAllowed() throws Exception {
    try (TestKafka kafka = TestKafka.borrow();
        TopicAdmin admin = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      admin.createMissing(1, Optional.empty());
      CopyCheck strict = CopyCheck.begin(config(kafka.bootstrapServers(), "refuse"), Await.TIMEOUT);
      CopyCheck meant = CopyCheck.begin(config(kafka.bootstrapServers(), "allow"), Await.TIMEOUT);

      String said =
          String.valueOf(assertThrows(IngestStartException.class, strict::require).getMessage());
      assertTrue(said.contains("weir.calls.v1 has a replication factor of 1, not 3"), said);
      assertTrue(said.contains("WEIR_SINGLE_COPY=allow"), said);
      assertDoesNotThrow(meant::require);
    }
  }

  @Test
  void require_kafkaUnavailable_letsTheNodeStart() throws Exception {
    CopyCheck check =
        CopyCheck.begin(config("127.0.0.1:" + Ports.free(), "refuse"), CopyCheck.TIMEOUT);

    assertDoesNotThrow(check::require);
  }
}
