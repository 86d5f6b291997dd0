// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.aggregator.count.CountSettings;
import io.weir.topics.catalog.Topics;
import java.time.Duration;
import java.util.Properties;
import java.util.function.Supplier;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;

/**
 * The supplier of the topology of the application {@code meter-core}. The application counts each
 * record of the calls topic exactly once. The application writes the ledger and the other output
 * topics.
 */
public final class MeterTopology implements Supplier<Topology> {
  /**
   * Name of the store of live buckets, for interactive queries. {@code BucketAudit} decodes the
   * store's values.
   */
  public static final String BUCKETS = ResourceNames.BUCKETS_STORE;

  private final Properties properties;
  private final CountSettings settings;
  private final int partitions;
  private final WrittenRows written;
  private final SkippedOffsets skipped;
  private final StoppedPartitions stopped;

  /**
   * Creates the supplier.
   *
   * @param properties the Streams configuration, from {@link StreamsSettings#meterCore}
   * @param settings the settings of the counting rules
   * @param partitions number of partitions of each topic
   * @param written counts the ledger rows
   * @param stopped the stopped partitions, and the records in {@code WEIR_QUARANTINE_RECORDS}
   */
  public MeterTopology(
      Properties properties,
      CountSettings settings,
      int partitions,
      WrittenRows written,
      StoppedPartitions stopped) {
    this.written = written;
    this.stopped = stopped;
    this.properties = properties;
    this.skipped =
        new SkippedOffsets(
            new CallsTopicLog(new StreamsConfig(properties).getRestoreConsumerConfigs("")));
    this.settings = settings;
    this.partitions = partitions;
  }

  @Override
  public Topology get() {
    Topology topology = new Topology(new TopologyConfig(new StreamsConfig(properties)));
    topology.addSource(
        ResourceNames.CALLS_SOURCE,
        new ByteArrayDeserializer(),
        new ByteArrayDeserializer(),
        Topics.CALLS.name());
    topology.addProcessor(
        ResourceNames.COUNT_PROCESSOR,
        () -> new CountProcessor(settings, partitions, written, skipped, stopped),
        ResourceNames.CALLS_SOURCE);
    topology.addStateStore(
        keyValues(ResourceNames.OPEN_STORE).withCachingEnabled(), ResourceNames.COUNT_PROCESSOR);
    topology.addStateStore(keyValues(ResourceNames.CLOSED_STORE), ResourceNames.COUNT_PROCESSOR);
    topology.addStateStore(
        keyValues(ResourceNames.PROGRESS_STORE).withCachingEnabled(),
        ResourceNames.COUNT_PROCESSOR);
    topology.addStateStore(
        keyValues(ResourceNames.BUCKETS_STORE).withCachingEnabled(), ResourceNames.COUNT_PROCESSOR);
    topology.addStateStore(callerIds(), ResourceNames.COUNT_PROCESSOR);
    topology.addStateStore(new CommitHook.Builder(), ResourceNames.COUNT_PROCESSOR);
    addSink(topology, ResourceNames.LEDGER_SINK, Topics.LEDGER.name());
    addSink(topology, ResourceNames.STATE_SINK, Topics.STATE.name());
    addSink(topology, ResourceNames.CORRECTIONS_SINK, Topics.CORRECTIONS.name());
    addSink(topology, ResourceNames.SETTLEMENTS_SINK, Topics.SETTLEMENTS.name());
    addSink(topology, ResourceNames.QUARANTINE_SINK, Topics.QUARANTINE.name());
    return topology;
  }

  private static StoreBuilder<KeyValueStore<Bytes, byte[]>> keyValues(String name) {
    return Stores.keyValueStoreBuilder(
        Stores.persistentKeyValueStore(name), Serdes.Bytes(), Serdes.ByteArray());
  }

  private StoreBuilder<WindowStore<Bytes, byte[]>> callerIds() {
    Duration retention = Duration.ofMillis(StreamsSeenIds.retentionMillis(settings));
    return Stores.windowStoreBuilder(
        Stores.persistentWindowStore(
            ResourceNames.CALLER_IDS_STORE, retention, Duration.ofMillis(1), false),
        Serdes.Bytes(),
        Serdes.ByteArray());
  }

  private static void addSink(Topology topology, String name, String topic) {
    topology.addSink(
        name,
        topic,
        PlacedKey.serializer(),
        new ByteArraySerializer(),
        PlacedKey.partitioner(),
        ResourceNames.COUNT_PROCESSOR);
  }
}
