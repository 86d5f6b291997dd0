// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
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
  void init_ofARecreatedTask_cancelsTheOldSchedules() {
    try (TopologyTestDriver ids = idStore()) {
      assertLeavesNoSchedule(ids.getWindowStore(ResourceNames.CALLER_IDS_STORE));
    }
  }

  @Test
  void noWorkLeft_noPunctuationUntilTheNextRecord() {
    try (TopologyTestDriver ids = idStore()) {
      MockProcessorContext<PlacedKey, byte[]> context =
          contextWith(ids.getWindowStore(ResourceNames.CALLER_IDS_STORE));
      CountProcessor processor = processor();
      processor.init(context);

      awaitRest(context);
      context.setRecordMetadata("weir.calls.v1", 0, 0);
      processor.process(new Record<>(new byte[0], "no batch".getBytes(UTF_8), 1_000));

      assertFalse(newest(context).cancelled());
      awaitRest(context);
    }
  }

  private static void awaitRest(MockProcessorContext<PlacedKey, byte[]> context) {
    MockProcessorContext.CapturedPunctuator scheduled = newest(context);
    int ticks = 0;
    while (!scheduled.cancelled()) {
      scheduled.getPunctuator().punctuate(1_000_000 + ticks * PeriodicWork.TICK_MILLIS);
      assertTrue(++ticks < 100, "it never rests");
    }
  }

  private static MockProcessorContext.CapturedPunctuator newest(
      MockProcessorContext<PlacedKey, byte[]> context) {
    List<MockProcessorContext.CapturedPunctuator> all = context.scheduledPunctuators();
    return all.get(all.size() - 1);
  }

  private static void assertLeavesNoSchedule(StateStore idStore) {
    MockProcessorContext<PlacedKey, byte[]> context = contextWith(idStore);
    CountProcessor processor = processor();

    processor.init(context);
    List<MockProcessorContext.CapturedPunctuator> first =
        List.copyOf(context.scheduledPunctuators());
    processor.init(context);
    assertEquals(1, first.size());
    assertTrue(first.stream().allMatch(MockProcessorContext.CapturedPunctuator::cancelled));
    assertEquals(0, running(context), "it would commit the offset of before");

    context.setRecordMetadata("weir.calls.v1", 0, 0);
    processor.process(new Record<>(new byte[0], "no batch".getBytes(UTF_8), 1_000));
    assertEquals(1, running(context));

    processor.close();
    assertEquals(0, running(context));
  }

  private static long running(MockProcessorContext<PlacedKey, byte[]> context) {
    return context.scheduledPunctuators().stream()
        .filter(scheduled -> !scheduled.cancelled())
        .count();
  }

  private static MockProcessorContext<PlacedKey, byte[]> contextWith(StateStore idStore) {
    MockProcessorContext<PlacedKey, byte[]> context = new MockProcessorContext<>();
    List.of(
            ResourceNames.OPEN_STORE,
            ResourceNames.CLOSED_STORE,
            ResourceNames.PROGRESS_STORE,
            ResourceNames.BUCKETS_STORE)
        .forEach(name -> addStore(context, name));
    context.addStateStore(idStore);
    context.addStateStore(new CommitHook.Builder().build());
    return context;
  }

  private static CountProcessor processor() {
    return new CountProcessor(
        SETTINGS,
        1,
        new WrittenRows(new SimpleMeterRegistry()),
        new SkippedOffsets((partition, from, to) -> false),
        new StoppedPartitions(Set.of()));
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
