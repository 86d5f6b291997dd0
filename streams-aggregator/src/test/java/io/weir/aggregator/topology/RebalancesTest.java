// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.streams.KafkaStreams.State;
import org.junit.jupiter.api.Test;

final class RebalancesTest {
  private final Rebalances rebalances = new Rebalances(() -> "counted=[]");

  @Test
  void startAndRebalance_areCounted_andTimeStandsStillWhileRunning() {
    assertEquals(0, rebalances.count());
    rebalances.onChange(State.REBALANCING, State.CREATED);
    assertEquals(1, rebalances.count());
    assertFalse(rebalances.isRunning());
    assertTrue(rebalances.totalSeconds() > 0);

    rebalances.onChange(State.RUNNING, State.REBALANCING);
    assertTrue(rebalances.isRunning());
    assertEquals(rebalances.totalSeconds(), rebalances.totalSeconds());

    rebalances.onChange(State.REBALANCING, State.RUNNING);
    rebalances.onChange(State.PENDING_ERROR, State.REBALANCING);
    assertEquals(2, rebalances.count());
    assertEquals(State.PENDING_ERROR, rebalances.state());
  }
}
