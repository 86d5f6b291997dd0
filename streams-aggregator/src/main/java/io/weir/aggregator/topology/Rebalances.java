// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KafkaStreams.State;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Observes the rebalances of an application: how often it had to wait for partitions to be assigned
 * or restored, and for how long, including its start. Meanwhile partitions that move are not
 * counted; reports are still answered. Thread-safe.
 */
public final class Rebalances implements KafkaStreams.StateListener {
  private static final Logger LOG = LoggerFactory.getLogger(Rebalances.class);

  private final Supplier<String> placement;
  private State state = State.CREATED;
  private long count;
  private long finishedNanos;
  private long begunNanos;

  /**
   * Creates the observer.
   *
   * @param placement returns the partitions of this process in words, for the log
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

  /** Returns the state announced last. */
  public synchronized State state() {
    return state;
  }

  /** Returns whether every partition assigned to this process is being counted. */
  public boolean isRunning() {
    return state() == State.RUNNING;
  }

  /** Returns the number of rebalances so far, including the one at the start. */
  public synchronized long count() {
    return count;
  }

  /** Returns the time spent in rebalances, in seconds, including one in progress. */
  public synchronized double totalSeconds() {
    long current = state == State.REBALANCING ? System.nanoTime() - begunNanos : 0;
    return (finishedNanos + current) / 1e9;
  }
}
