// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.aggregator.Calls;
import io.weir.aggregator.count.CountSettings;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionProgressCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Callers' ids in the window store that Kafka Streams really uses, in the topology as it is. */
final class StreamsSeenIdsTest {
  private static final long LATENESS_MILLIS = Duration.ofDays(35).toMillis();
  private static final CountSettings SETTINGS =
      new CountSettings(900_000, 600_000, 3_600_000, LATENESS_MILLIS);

  private static final long T = 1_700_000_000_000L;

  /** So far ahead that ids of the right time would have expired. */
  private static final long BROKER_AHEAD = T + 2 * LATENESS_MILLIS;

  @TempDir private Path folder;

  /**
   * A store treats the greatest time that it has received as now. The first record of a task must
   * not give it a wrong time.
   */
  @Test
  void idsOfCallers_survive_aTaskStart_whileTheBrokersClockIsAhead() throws Exception {
    StreamsSettings streams =
        new StreamsSettings(
            KafkaConnection.to("localhost:1"),
            "seen-ids-",
            folder,
            "one",
            Duration.ofSeconds(10),
            "f",
            1,
            1,
            SingleCopy.ALLOW);
    Properties properties = streams.meterCore("127.0.0.1:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, folder.toString());
    MeterTopology topology =
        new MeterTopology(
            properties,
            SETTINGS,
            1,
            new WrittenRows(new SimpleMeterRegistry()),
            new StoppedPartitions(Set.of()));
    try (TopologyTestDriver driver =
        new TopologyTestDriver(topology.get(), properties, Instant.ofEpochMilli(T))) {
      TestInputTopic<byte[], byte[]> calls =
          driver.createInputTopic(
              Topics.CALLS.name(), new ByteArraySerializer(), new ByteArraySerializer());
      take(calls, 0, List.of(), BROKER_AHEAD);

      CallEvent own = Calls.call("own", true, "acme", "-", 7, true, T + 1);
      take(calls, 1, List.of(own), T + 10);
      take(calls, 2, List.of(own), T + 20);

      assertEquals(new Counters(2, 1, 1, 0, 0), counters(driver));
    }
  }

  private static void take(
      TestInputTopic<byte[], byte[]> calls, long sequence, List<CallEvent> lines, long brokerTime) {
    RecordHeaders headers = new RecordHeaders();
    BatchHeader header =
        new BatchHeader("n", 1, sequence, lines.size(), T, Math.max(0, sequence - 1), false);
    BatchHeaderCodec.encode(header).forEach(headers::add);
    calls.pipeInput(new TestRecord<>(null, Calls.value(lines), headers, brokerTime));
  }

  private static Counters counters(TopologyTestDriver driver) throws MalformedRecordException {
    driver.advanceWallClockTime(Duration.ofSeconds(1));
    TestOutputTopic<String, byte[]> states =
        driver.createOutputTopic(
            Topics.STATE.name(), new StringDeserializer(), new ByteArrayDeserializer());
    Counters newest = null;
    for (TestRecord<String, byte[]> record : states.readRecordsToList()) {
      byte[] type = record.headers().lastHeader(BatchHeaderCodec.TYPE_HEADER).value();
      if (new String(type, StandardCharsets.UTF_8).equals(PartitionProgressCodec.TYPE)) {
        newest = PartitionProgressCodec.decode(record.value()).counters();
      }
    }
    if (newest == null) {
      throw new AssertionError("no progress was published");
    }
    return newest;
  }
}
