// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KafkaStreams.State;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A listener that measures the number and duration of the application's rebalances. The start of
 * the application is also a rebalance. A rebalance lasts until partitions are assigned and
 * restored. During a rebalance, partitions that move are not counted, and reports are still
 * answered. Thread-safe.
 */
public final class Rebalances implements KafkaStreams.StateListener {
  private static final Logger LOG = LoggerFactory.getLogger(Rebalances.class);

  private final Supplier<String> placement;
  private final Counter rebalances;
  private State state = State.CREATED;
  private long finishedNanos;
  private long begunNanos;

  /**
   * Creates the listener and registers its metrics.
   *
   * @param placement returns the partitions of this process as text for the log
   */
  public Rebalances(Supplier<String> placement, MeterRegistry registry) {
    this.placement = placement;
    rebalances =
        Counter.builder("weir.rebalances")
            .description("rebalances of this instance, including its start")
            .register(registry);
    // the value includes the rebalance in progress
    FunctionCounter.builder("weir.rebalancing.seconds", this, Rebalances::totalSeconds)
        .description("seconds spent in rebalances of this instance")
        .register(registry);
    Gauge.builder("weir.streams.running", this, all -> all.isRunning() ? 1 : 0)
        .description("1 when the application counts, 0 when it rebalances, restores or is stopped")
        .tag("application", "meter-core")
        .register(registry);
  }

  @Override
  public void onChange(State next, State before) {
    long tookNanos = change(next, before);
    if (next == State.REBALANCING) {
      LOG.info("rebalance begins");
    } else if (before == State.REBALANCING) {
      LOG.info(
          "rebalance ends state={} took_ms={} {}",
          next,
          TimeUnit.NANOSECONDS.toMillis(tookNanos),
          placement.get());
    } else {
      LOG.info("meter-core has changed its state state={}", next);
    }
  }

  private synchronized long change(State next, State before) {
    long now = System.nanoTime();
    long took = 0;
    state = next;
    if (next == State.REBALANCING) {
      rebalances.increment();
      begunNanos = now;
    } else if (before == State.REBALANCING) {
      took = now - begunNanos;
      finishedNanos += took;
    }
    return took;
  }

  /** Returns the current state of the application. */
  public synchronized State state() {
    return state;
  }

  /** Returns whether this process counts every partition assigned to it. */
  public boolean isRunning() {
    return state() == State.RUNNING;
  }

  /** Returns the total duration of all rebalances in seconds, including a rebalance in progress. */
  synchronized double totalSeconds() {
    long current = state == State.REBALANCING ? System.nanoTime() - begunNanos : 0;
    return (finishedNanos + current) / 1e9;
  }
}
