// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.count.PartitionCounter;
import io.weir.aggregator.count.SourceRecord;
import io.weir.aggregator.state.Budget;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.log.HeaderValues;
import java.time.Duration;
import java.util.function.ToIntFunction;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStore;
import org.jspecify.annotations.Nullable;

/**
 * The processor of a Streams task, which counts one partition. The processor connects {@link
 * PartitionCounter} to its stores, its sinks and the clock. The processor closes windows and
 * publishes figures in short steps, so that no poll or commit waits long.
 */
final class CountProcessor implements Processor<byte[], byte[], PlacedKey, byte[]> {
  // All intervals are well below 1 s, the time between two heartbeats. So all work is complete soon
  // after each heartbeat.

  private static final long CLOSE_MILLIS = 100;
  private static final long PUBLISH_MILLIS = 200;
  private static final long FORGET_MILLIS = 500;

  /**
   * Maximum time per record for closing windows. Between records the maximum is {@link
   * #CLOSE_BUDGET}.
   */
  private static final Duration CLOSE_BUDGET_PER_RECORD = Duration.ofMillis(10);

  private static final String GIVEN_UP = "given up by WEIR_QUARANTINE_RECORDS";

  private static final Duration CLOSE_BUDGET = Duration.ofMillis(50);

  /**
   * Maximum duration of one publishing step. Publishing then takes at most a tenth of the thread's
   * time, because the published figures will soon change again.
   */
  private static final Duration PUBLISH_BUDGET = Duration.ofMillis(20);

  /**
   * Maximum duration of a publishing round. After this duration, publishing has priority, because
   * the published progress is then old.
   */
  private static final Duration MAX_ROUND = Duration.ofSeconds(1);

  private static final Duration URGENT_PUBLISH_BUDGET = Duration.ofMillis(200);

  /**
   * Interval of the restoration. The interval is short because clients wait until the cache is
   * restored.
   */
  private static final long RESTORE_MILLIS = 50;

  private static final Duration RESTORE_BUDGET = Duration.ofMillis(30);

  /**
   * Interval of the sweep over the buckets. With this interval, the sweep takes at most a twentieth
   * of the thread's time.
   */
  private static final long SWEEP_MILLIS = 400;

  private static final Duration SWEEP_BUDGET = Duration.ofMillis(20);

  private static final long ACCURACY_MILLIS = 500;

  /**
   * Maximum number of rows deleted in one step. On average, the processor closes fewer rows than
   * this maximum between two steps, so the deletion keeps up.
   */
  private static final int MAX_FORGET_ROWS = 2_000;

  private final CountSettings settings;
  private final int partitions;
  private final WrittenRows written;
  private final SkippedOffsets skipped;
  private final StoppedPartitions stopped;
  private @Nullable ProcessorContext<PlacedKey, byte[]> context;
  private @Nullable SinkOutput output;
  private @Nullable PartitionCounter counter;
  private @Nullable StreamsSeenIds ids;
  private @Nullable PeriodicWork work;
  private @Nullable Cancellable schedule;
  private boolean marked;
  private long roundStartedNanos;

  CountProcessor(
      CountSettings settings,
      int partitions,
      WrittenRows written,
      SkippedOffsets skipped,
      StoppedPartitions stopped) {
    this.skipped = skipped;
    this.stopped = stopped;
    this.written = written;
    this.settings = settings;
    this.partitions = partitions;
  }

  @Override
  public void init(ProcessorContext<PlacedKey, byte[]> context) {
    boolean isRecreated = this.context != null;
    this.context = context;
    SinkOutput sinks = new SinkOutput(context, written);
    WindowStore<Bytes, byte[]> idStore = context.getStateStore(ResourceNames.CALLER_IDS_STORE);
    StreamsSeenIds seenIds = new StreamsSeenIds(idStore, settings);
    ToIntFunction<String> partitionOfClient =
        client -> ClientPartitioner.partition(client, partitions);
    StreamsByteStore open = store(context, ResourceNames.OPEN_STORE);
    StreamsByteStore progress = store(context, ResourceNames.PROGRESS_STORE);
    StreamsByteStore buckets = store(context, ResourceNames.BUCKETS_STORE);
    PartitionCounter.Stores stores =
        new PartitionCounter.Stores(
            open, store(context, ResourceNames.CLOSED_STORE), progress, buckets, seenIds);
    PartitionCounter started =
        new PartitionCounter(
            context.taskId().partition(),
            partitions,
            settings,
            stores,
            sinks,
            partitionOfClient,
            context::currentSystemTimeMs);
    CommitHook hook = context.getStateStore(ResourceNames.COMMIT_HOOK);
    hook.beforeCommit(
        () -> {
          started.flush();
          // Kafka Streams flushes the caches in any order, so it may have flushed these before
          open.flushCache();
          progress.flushCache();
          buckets.flushCache();
        });
    this.output = sinks;
    this.counter = started;
    this.ids = seenIds;
    this.marked = false;
    this.roundStartedNanos = System.nanoTime();
    // After an aborted transaction, Kafka Streams revives the task with the same processor object.
    // Work scheduled for the previous counter would write the counter's uncommitted state from
    // memory.
    cancelWork();
    this.work = null;
    stopped.resumeIfPassed(context.taskId().partition(), started.nextOffset());
    if (stopped.isIdle(context.taskId().partition())) {
      return;
    }
    this.work = workOf(started);
    if (!isRecreated) {
      scheduleWork();
    }
    // A revived task still has the offset of the aborted transaction. A punctuation would commit
    // that offset. The first record corrects the offset and schedules the work.
  }

  private PeriodicWork workOf(PartitionCounter started) {
    return new PeriodicWork()
        .every(RESTORE_MILLIS, () -> started.restore(new TimeBudget(RESTORE_BUDGET)))
        .every(CLOSE_MILLIS, () -> started.close(new TimeBudget(CLOSE_BUDGET)))
        .every(SWEEP_MILLIS, () -> started.sweep(new TimeBudget(SWEEP_BUDGET)))
        .every(FORGET_MILLIS, () -> started.forget(MAX_FORGET_ROWS))
        .every(PUBLISH_MILLIS, () -> publish(started))
        .every(
            ACCURACY_MILLIS,
            () -> {
              started.publishAccuracy();
              return true;
            });
  }

  /** Schedules the periodic work until all of it is complete. */
  private void scheduleWork() {
    PeriodicWork due = work;
    if (due == null || schedule != null) {
      return;
    }
    roundStartedNanos = System.nanoTime();
    ProcessorContext<PlacedKey, byte[]> ready = initialised(context);
    schedule =
        ready.schedule(
            Duration.ofMillis(PeriodicWork.TICK_MILLIS),
            PunctuationType.WALL_CLOCK_TIME,
            now -> work(ready, due, now));
  }

  private void work(ProcessorContext<PlacedKey, byte[]> ready, PeriodicWork due, long nowMillis) {
    try {
      if (due.run(nowMillis)) {
        cancelWork();
      }
    } catch (KafkaException ofKafka) {
      throw ofKafka;
    } catch (RuntimeException failure) {
      long next = Math.max(0, initialised(counter).nextOffset());
      throw stop(ready.taskId().partition(), next, true, failure);
    }
  }

  private void cancelWork() {
    Cancellable running = schedule;
    if (running != null) {
      running.cancel();
      schedule = null;
    }
  }

  @Override
  public void close() {
    cancelWork();
  }

  private static StreamsByteStore store(ProcessorContext<PlacedKey, byte[]> context, String name) {
    KeyValueStore<Bytes, byte[]> store = context.getStateStore(name);
    return new StreamsByteStore(store);
  }

  @Override
  public void process(Record<byte[], byte[]> record) {
    ProcessorContext<PlacedKey, byte[]> ready = initialised(context);
    PartitionCounter partition = initialised(counter);
    long offset = ready.recordMetadata().orElseThrow().offset();
    skipped.refuse(ready.taskId().partition(), partition.nextOffset(), offset);
    initialised(output).begin(record, offset);
    SourceRecord source =
        new SourceRecord(
            offset, record.timestamp(), record.value(), HeaderValues.of(record.headers()));
    int number = ready.taskId().partition();
    try {
      if (stopped.isGivenUp(new RecordPlace(number, offset))) {
        partition.giveUp(source, GIVEN_UP);
      } else {
        partition.take(source);
      }
      if (!marked) {
        // The mark must have the trusted time, because a window store expires entries by the
        // greatest time that it has received.
        initialised(ids).mark(partition.timeEpochMillis());
        marked = true;
      }
      partition.close(new TimeBudget(CLOSE_BUDGET_PER_RECORD));
      if (work != null) {
        work.recordTaken();
        scheduleWork();
      }
    } catch (KafkaException ofKafka) {
      throw ofKafka;
    } catch (RuntimeException failure) {
      throw stop(number, offset, false, failure);
    }
  }

  /**
   * Stops the partition at a record. The changes of that record are not committed. Other partitions
   * of the same transaction repeat their work.
   */
  private PartitionStoppedException stop(
      int partition, long offset, boolean betweenRecords, RuntimeException failure) {
    return stopped.stop(
        new StoppedPartitions.Stop(
            new RecordPlace(partition, offset), betweenRecords, failure.toString()),
        failure);
  }

  private boolean publish(PartitionCounter partition) {
    boolean late = System.nanoTime() - roundStartedNanos > MAX_ROUND.toNanos();
    boolean complete =
        partition.publish(new TimeBudget(late ? URGENT_PUBLISH_BUDGET : PUBLISH_BUDGET));
    if (complete) {
      roundStartedNanos = System.nanoTime();
    }
    return complete;
  }

  private static <T> T initialised(@Nullable T part) {
    if (part == null) {
      throw new IllegalStateException("the processor is not initialised");
    }
    return part;
  }

  /**
   * A budget that is used up after a duration. The budget reads the clock once per {@value
   * #STEPS_PER_READING} steps. Not thread-safe.
   */
  private static final class TimeBudget implements Budget {
    /** Number of steps between two reads of the clock. A step takes about 5 µs. */
    private static final int STEPS_PER_READING = 16;

    private final long endNanos;
    private int steps;
    private boolean spent;

    TimeBudget(Duration length) {
      this.endNanos = System.nanoTime() + length.toNanos();
    }

    @Override
    public boolean isSpent() {
      if (!spent && ++steps % STEPS_PER_READING == 0) {
        spent = System.nanoTime() - endNanos >= 0;
      }
      return spent;
    }
  }
}
