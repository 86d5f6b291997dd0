// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.count.CountSettings;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Test;

final class CountProcessorTest {
  private static final CountSettings SETTINGS = new CountSettings(10_000, 2_000, 60_000, 3_600_000);

  @Test
  void init_ofARevivedTask_leavesNoScheduleOfTheCounterBefore() {
    try (TopologyTestDriver ids = idStore()) {
      assertLeavesNoSchedule(ids.getWindowStore(ResourceNames.CALLER_IDS_STORE));
    }
  }

  private static void assertLeavesNoSchedule(StateStore idStore) {
    MockProcessorContext<PlacedKey, byte[]> context = new MockProcessorContext<>();
    List.of(
            ResourceNames.OPEN_STORE,
            ResourceNames.CLOSED_STORE,
            ResourceNames.PROGRESS_STORE,
            ResourceNames.BUCKETS_STORE)
        .forEach(name -> addStore(context, name));
    context.addStateStore(idStore);
    CountProcessor processor =
        new CountProcessor(
            SETTINGS,
            1,
            new WrittenRows(),
            new SkippedOffsets((partition, from, to) -> false),
            new StoppedPartitions(Set.of()));

    processor.init(context);
    List<MockProcessorContext.CapturedPunctuator> first =
        List.copyOf(context.scheduledPunctuators());
    processor.init(context);

    assertEquals(6, first.size());
    assertTrue(first.stream().allMatch(MockProcessorContext.CapturedPunctuator::cancelled));
    assertEquals(
        6,
        context.scheduledPunctuators().stream()
            .filter(scheduled -> !scheduled.cancelled())
            .count());
    processor.close();
    assertTrue(
        context.scheduledPunctuators().stream()
            .allMatch(MockProcessorContext.CapturedPunctuator::cancelled));
  }

  private static void addStore(MockProcessorContext<PlacedKey, byte[]> context, String name) {
    KeyValueStore<Bytes, byte[]> store =
        Stores.keyValueStoreBuilder(
                Stores.inMemoryKeyValueStore(name), Serdes.Bytes(), Serdes.ByteArray())
            .withLoggingDisabled()
            .withCachingDisabled()
            .build();
    store.init(context.getStateStoreContext(), store);
    context.addStateStore(store);
  }

  /** A window store that is ready for use; the context alone cannot make one ready. */
  private static TopologyTestDriver idStore() {
    Topology topology = new Topology();
    topology.addSource("source", new ByteArrayDeserializer(), new ByteArrayDeserializer(), "topic");
    topology.addProcessor("processor", NoProcessor::new, "source");
    topology.addStateStore(
        Stores.windowStoreBuilder(
                Stores.inMemoryWindowStore(
                    ResourceNames.CALLER_IDS_STORE,
                    Duration.ofHours(1),
                    Duration.ofMillis(1),
                    false),
                Serdes.Bytes(),
                Serdes.ByteArray())
            .withLoggingDisabled()
            .withCachingDisabled(),
        "processor");
    return new TopologyTestDriver(topology);
  }

  private static final class NoProcessor implements Processor<byte[], byte[], byte[], byte[]> {
    @Override
    public void process(Record<byte[], byte[]> record) {}
  }
}
