// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.PartitionProgressCodec;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.jspecify.annotations.Nullable;

/** Puts the records of the state topic into the table, as they are. */
final class UsageViewProcessor implements Processor<Bytes, byte[], Void, Void> {
  private final Runnable onProgress;
  private @Nullable KeyValueStore<Bytes, byte[]> table;

  UsageViewProcessor(Runnable onProgress) {
    this.onProgress = onProgress;
  }

  @Override
  public void init(ProcessorContext<Void, Void> context) {
    table = context.getStateStore(ResourceNames.USAGE_STORE);
  }

  @Override
  public void process(Record<Bytes, byte[]> record) {
    if (table == null) {
      throw new IllegalStateException("a processor must be initialised before it is used");
    }
    if (record.key() == null) {
      return; // not ours: a compacted topic has no use for it either
    }
    table.put(record.key(), record.value());
    Header type = record.headers().lastHeader(BatchHeaderCodec.TYPE_HEADER);
    if (type != null
        && PartitionProgressCodec.TYPE.equals(new String(type.value(), StandardCharsets.UTF_8))) {
      onProgress.run();
    }
  }
}
