// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.sim;

import io.weir.ingest.settle.CallFinder;
import io.weir.ingest.settle.CallQuery;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.CallEvent;
import org.jspecify.annotations.Nullable;

/** Finds calls by reading the whole partition: takes the place of the bounded search in Kafka. */
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
      return new Unknown("Kafka is away");
    }
    int partition = ClientPartitioner.partition(query.client(), world.kafka().partitions());
    Placed allowed = null;
    Placed denied = null;
    Placed settlement = null;
    for (LogLines.Line line : LogLines.of(partition, world.kafka().calls(partition))) {
      CallEvent call = line.call();
      if (call.client().equals(query.client()) && call.id().equals(query.id())) {
        Placed placed = new Placed(call, line.position());
        if (call.settlement() != null) {
          settlement = settlement == null ? placed : settlement;
        } else if (call.allowed()) {
          allowed = allowed == null ? placed : allowed;
        } else {
          denied = denied == null ? placed : denied;
        }
      }
    }
    return finding(allowed != null ? allowed : denied, settlement);
  }

  private static Finding finding(@Nullable Placed call, @Nullable Placed settlement) {
    return call == null ? new NotFound(0, Long.MAX_VALUE) : new Found(call, settlement);
  }

  @Override
  public void close() {}
}
