// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.aggregator.count.CountSettings;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import org.apache.kafka.streams.Topology;
import org.junit.jupiter.api.Test;

/** The stored descriptions: names are on-disk format, so a difference here is a migration. */
final class TopologyDescriptionTest {
  private static final StreamsSettings SETTINGS =
      new StreamsSettings(
          KafkaConnection.to("localhost:1"),
          "weir-",
          Path.of("unused"),
          "one",
          Duration.ofSeconds(10),
          "f",
          1,
          1,
          SingleCopy.REFUSE);

  @Test
  void meterCore_description_isAsStored() throws IOException {
    CountSettings count = new CountSettings(900_000, 600_000, 3_600_000, 3_024_000_000L);

    assertIsStored(
        "meter-core.txt",
        new MeterTopology(
                SETTINGS.meterCore("127.0.0.1:8081"),
                count,
                8,
                new WrittenRows(new SimpleMeterRegistry()),
                new StoppedPartitions(Set.of()))
            .get());
  }

  private static void assertIsStored(String file, Topology topology) throws IOException {
    try (InputStream stored =
        Objects.requireNonNull(TopologyDescriptionTest.class.getResourceAsStream(file), file)) {
      assertEquals(
          new String(stored.readAllBytes(), StandardCharsets.UTF_8).strip(),
          topology.describe().toString().strip());
    }
  }
}
