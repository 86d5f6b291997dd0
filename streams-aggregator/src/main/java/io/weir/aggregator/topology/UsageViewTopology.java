// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.topics.catalog.Topics;
import java.util.Properties;
import java.util.function.Supplier;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.BytesDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.state.Stores;

/**
 * The application {@code usage-view}: the state topic as a table that can be queried. The topic is
 * its own changelog, so the table is never copied, and values are absolute, so reading one twice
 * does no harm.
 */
public final class UsageViewTopology implements Supplier<Topology> {
  /** The name of the table. */
  public static final String TABLE = ResourceNames.USAGE_STORE;

  private final Properties properties;
  private final Runnable onProgress;

  /**
   * @param properties the Streams configuration, see {@link StreamsSettings#usageView}
   * @param onProgress called after a partition's progress was put into the table; must be quick
   */
  public UsageViewTopology(Properties properties, Runnable onProgress) {
    this.properties = properties;
    this.onProgress = onProgress;
  }

  @Override
  public Topology get() {
    Topology topology = new Topology(new TopologyConfig(new StreamsConfig(properties)));
    topology.addReadOnlyStateStore(
        Stores.keyValueStoreBuilder(
                Stores.persistentKeyValueStore(ResourceNames.USAGE_STORE),
                Serdes.Bytes(),
                Serdes.ByteArray())
            .withLoggingDisabled(),
        ResourceNames.USAGE_SOURCE,
        new BytesDeserializer(),
        new ByteArrayDeserializer(),
        Topics.STATE.name(),
        ResourceNames.USAGE_PROCESSOR,
        () -> new UsageViewProcessor(onProgress));
    return topology;
  }
}
