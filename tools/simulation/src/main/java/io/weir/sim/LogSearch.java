// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.settle.CallFinder;
import io.weir.ingest.settle.SettleOutcome.NotFound;
import io.weir.ingest.settle.SettleOutcome.Unavailable;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.CallEvent;

/** Finds calls by a scan of the whole partition. Replaces Weir's bounded search in Kafka. */
final class LogSearch implements CallFinder {
  private final World world;
  private final String node;

  LogSearch(World world, String node) {
    this.world = world;
    this.node = node;
  }

  @Override
  public Finding find(CallQuery query) {
    if (!world.kafka().isReachedBy(node)) {
      return new Unavailable("Kafka is away");
    }
    int partition = ClientPartitioner.partition(query.client(), world.kafka().partitions());
    Found denied = null;
    for (LogLines.Line line : LogLines.of(partition, world.kafka().calls(partition))) {
      CallEvent call = line.call();
      if (call.client().equals(query.client())
          && call.id().equals(query.id())
          && call.settlement() == null) {
        Found found = new Found(call, line.position());
        if (call.allowed()) {
          return found;
        }
        denied = denied == null ? found : denied;
      }
    }
    return denied == null ? new NotFound(0, Long.MAX_VALUE) : denied;
  }

  @Override
  public void close() {}
}
