// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class StreamsSettingsTest {
  @ParameterizedTest
  @CsvSource({"PT6S,6000,2000", "PT9S,9000,3000", "PT5M,300000,3000"})
  void meterCore_sessionTimeout_appliesToMembersAndTransactions(
      Duration sessionTimeout, int millis, int heartbeatMillis) {
    Properties properties =
        new StreamsSettings(
                KafkaConnection.to("localhost:1"),
                "weir-",
                Path.of("unused"),
                "one",
                sessionTimeout,
                "f",
                1,
                1,
                SingleCopy.REFUSE)
            .meterCore("localhost:2");

    assertEquals(millis, properties.get("main.consumer.session.timeout.ms"));
    assertEquals(heartbeatMillis, properties.get("main.consumer.heartbeat.interval.ms"));
    assertEquals(millis, properties.get("producer.transaction.timeout.ms"));
  }

  @Test
  void internalTopics_haveThreeCopies_unlessASingleCopyIsAllowed() {
    Properties refused = meterCore(SingleCopy.REFUSE);
    Properties allowed = meterCore(SingleCopy.ALLOW);

    assertEquals(3, refused.get("replication.factor"));
    assertEquals("2", refused.get("topic.min.insync.replicas"));
    assertNull(allowed.get("replication.factor"));
    assertNull(allowed.get("topic.min.insync.replicas"));
  }

  private static Properties meterCore(SingleCopy singleCopy) {
    return new StreamsSettings(
            KafkaConnection.to("localhost:1"),
            "weir-",
            Path.of("x"),
            "one",
            Duration.ofSeconds(10),
            "f",
            1,
            1,
            singleCopy)
        .meterCore("localhost:2");
  }
}
