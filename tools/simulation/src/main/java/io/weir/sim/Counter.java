// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.aggregator.count.PartitionCounter;
import io.weir.aggregator.count.SourceRecord;
import io.weir.aggregator.state.Budget;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.wire.PartitionAccuracyCodec;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The task of the aggregator that counts one partition. The task replaces Kafka Streams, and runs
 * Weir's own counter and its periodic work. A transaction of the task takes effect completely or
 * not at all.
 */
final class Counter {
  /** The kinds of periodic work, as in CountProcessor. */
  private enum Work {
    CLOSE(100),
    PUBLISH(200),
    FORGET(1_000),
    RESTORE(50),
    SWEEP(400),
    ACCURACY(1_000);

    final long intervalMicros;

    Work(long intervalMillis) {
      this.intervalMicros = intervalMillis * 1_000;
    }
  }

  private static final int MAX_RECORDS = 12;
  private static final int MAX_FORGET_ROWS = 100;

  private final World world;
  private final int partition;
  private final Chance chance;
  private final SimulatedLog calls;
  private final TransactionalStore open = new TransactionalStore();
  private final TransactionalStore closed = new TransactionalStore();
  private final TransactionalStore progress = new TransactionalStore();
  private final TransactionalStore buckets = new TransactionalStore();
  private final TransactionalStore ids = new TransactionalStore();
  private final CounterOutput output = new CounterOutput();
  private final Map<Work, Long> dueMicros = new EnumMap<>(Work.class);
  private @Nullable PartitionCounter counter;
  private long position;
  private long committed;

  Counter(World world, int partition, Chance chance) {
    this.world = world;
    this.partition = partition;
    this.chance = chance;
    this.calls = world.kafka().calls(partition);
  }

  void start() {
    position = committed;
    counter =
        new PartitionCounter(
            partition,
            world.kafka().partitions(),
            world.plan().settings(),
            world
                .edges()
                .stores(new PartitionCounter.Stores(open, closed, progress, buckets, ids), ids),
            output,
            client -> ClientPartitioner.partition(client, world.kafka().partitions()),
            () -> world.kafka().clock().epochMillis());
    poll();
  }

  /** Returns the committed offset. */
  long committed() {
    return committed;
  }

  boolean isUp() {
    return counter != null;
  }

  /** Kills the task. Another instance continues from the committed state. */
  void kill() {
    if (counter == null) {
      return;
    }
    world.count("counter killed");
    counter = null;
    abort();
    world
        .scheduler()
        .after(
            chance.millis(100, chance.percent(20) ? 8_000 : 1_500),
            "counter " + partition + " starts",
            this::start);
  }

  private void abort() {
    List<CounterOutput.Output> lost = output.drain();
    if (world.edges().readsAborted()) {
      append(lost);
    }
    if (world.edges().commitsOffsetAlone()) {
      committed = position;
    }
    for (TransactionalStore store : stores()) {
      store.rollBack();
    }
  }

  private List<TransactionalStore> stores() {
    return List.of(open, closed, progress, buckets, ids);
  }

  private void poll() {
    PartitionCounter running = counter;
    if (running == null) {
      return;
    }
    if (!world.kafka().isAway()) {
      try {
        take(running);
        work(running);
        if (chance.percent(70)) {
          commit(running);
        }
        mayCrash();
      } catch (Crash crash) {
        kill();
        return;
      }
    }
    world
        .scheduler()
        .after(chance.millis(30, world.isHealed() ? 250 : 160), "counter " + partition, this::poll);
  }

  private void take(PartitionCounter running) {
    for (int taken = 0; taken < MAX_RECORDS && position < calls.end(); taken++) {
      SimulatedLog.Entry entry = calls.at(position++);
      running.take(
          world
              .edges()
              .taken(
                  new SourceRecord(
                      entry.offset(),
                      entry.appendEpochMillis(),
                      entry.value(),
                      entry.headers()::get)));
      mayCrash();
      running.close(budget());
    }
    world
        .buckets()
        .noteWatermark(
            partition, running.timeEpochMillis(), running.progress().watermarkEpochMillis());
  }

  private void work(PartitionCounter running) {
    long now = world.scheduler().nowMicros();
    for (Work work : Work.values()) {
      if (now < dueMicros.getOrDefault(work, 0L)) {
        continue;
      }
      dueMicros.put(work, now + work.intervalMicros);
      mayCrash();
      switch (work) {
        case CLOSE -> running.close(budget());
        case PUBLISH -> running.publish(budget());
        case FORGET -> running.forget(MAX_FORGET_ROWS);
        case RESTORE -> running.restore(budget());
        case SWEEP -> running.sweep(budget());
        case ACCURACY -> running.publishAccuracy();
      }
    }
  }

  /**
   * Returns a budget for the task's work. The budget can end at any step, but rarely enough for the
   * task to make progress.
   */
  private Budget budget() {
    return () -> chance.percent(4);
  }

  private void mayCrash() {
    if (world.isDisturbedBy(Fault.COUNTER_KILLED) && chance.permille(3)) {
      throw new Crash("at a step of the counter");
    }
  }

  private void commit(PartitionCounter running) {
    running.flush();
    append(world.edges().committed(output.drain()));
    for (TransactionalStore store : stores()) {
      store.commit();
    }
    committed = position;
    world.ledger(partition).read();
  }

  private void append(List<CounterOutput.Output> outputs) {
    for (CounterOutput.Output out : outputs) {
      SimulatedLog log =
          switch (out.target()) {
            case LEDGER -> world.kafka().ledger(partition);
            case STATES -> world.kafka().states(partition);
            case CORRECTIONS -> world.kafka().corrections(partition);
            case SETTLEMENTS -> world.kafka().settlements(partition);
            case QUARANTINE -> world.kafka().quarantine(partition);
          };
      log.append(out.key().getBytes(StandardCharsets.UTF_8), out.value(), out.headers());
      // the order of policies in the accuracy record differs between JVMs, so the trace contains
      // only its length
      boolean ordered = !out.key().equals(PartitionAccuracyCodec.key(partition));
      int content = ordered ? Arrays.hashCode(out.value()) : out.value().length;
      world.trace().note(out.target().name(), out.key(), content);
    }
  }
}
