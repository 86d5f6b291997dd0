// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.UsageStateCodec;

/** Rows of a client of partition 0, each of another endpoint: more than a table keeps in memory. */
final class StateRows {
  private final String client;
  private int sent;

  StateRows(String client) {
    this.client = client;
  }

  /** Sends further rows to the state topic, and waits until they are durable. */
  void send(Broker broker, int rows) {
    for (int row = 0; row < rows; row++) {
      UsageState state =
          new UsageState(
              new UsageKey(client, "calls", "GET /" + sent++),
              new UsageWindow(0, 2_000),
              UsageState.Status.FINAL,
              1,
              UsageCount.ZERO,
              true);
      broker.sendState(
          0, UsageStateCodec.TYPE, UsageStateCodec.key(state), UsageStateCodec.encode(state));
    }
    broker.flush();
  }
}
