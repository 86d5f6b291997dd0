// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KafkaStreams.State;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Announces the rebalances of an application: how often it had to wait for partitions to be given
 * or restored, and for how long, the start included. Counting stands still meanwhile where
 * partitions move; reports go on. Safe for threads.
 */
public final class Rebalances implements KafkaStreams.StateListener {
  private static final Logger LOG = LoggerFactory.getLogger(Rebalances.class);

  private final Supplier<String> placement;
  private State state = State.CREATED;
  private long count;
  private long finishedNanos;
  private long begunNanos;

  /**
   * @param placement says what this process holds, for the log
   */
  public Rebalances(Supplier<String> placement) {
    this.placement = placement;
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
      LOG.info("meter-core changes state={}", next);
    }
  }

  private synchronized long change(State next, State before) {
    long now = System.nanoTime();
    long took = 0;
    state = next;
    if (next == State.REBALANCING) {
      count++;
      begunNanos = now;
    } else if (before == State.REBALANCING) {
      took = now - begunNanos;
      finishedNanos += took;
    }
    return took;
  }

  /** The state, as last announced. */
  public synchronized State state() {
    return state;
  }

  /** Whether every partition given to this process is being counted. */
  public boolean isRunning() {
    return state() == State.RUNNING;
  }

  /** Rebalances so far, the one of the start included. */
  public synchronized long count() {
    return count;
  }

  /** Seconds spent in rebalances, the one under way included. */
  public synchronized double totalSeconds() {
    long current = state == State.REBALANCING ? System.nanoTime() - begunNanos : 0;
    return (finishedNanos + current) / 1e9;
  }
}
