// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.apache.kafka.streams.KafkaStreams.State;
import org.junit.jupiter.api.Test;

final class RebalancesTest {
  private final MeterRegistry registry = new SimpleMeterRegistry();
  private final Rebalances rebalances = new Rebalances(() -> "counted=[]", registry);

  @Test
  void startAndRebalance_areCounted_andTimeStandsStillWhileRunning() {
    assertEquals(0, count());
    rebalances.onChange(State.REBALANCING, State.CREATED);
    assertEquals(1, count());
    assertFalse(rebalances.isRunning());
    assertTrue(rebalances.totalSeconds() > 0);

    rebalances.onChange(State.RUNNING, State.REBALANCING);
    assertTrue(rebalances.isRunning());
    assertEquals(rebalances.totalSeconds(), rebalances.totalSeconds());

    rebalances.onChange(State.REBALANCING, State.RUNNING);
    rebalances.onChange(State.PENDING_ERROR, State.REBALANCING);
    assertEquals(2, count());
    assertEquals(State.PENDING_ERROR, rebalances.state());
  }

  private double count() {
    return registry.get("weir.rebalances").counter().count();
  }
}
