// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.kafka.KafkaClientMetrics;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.process.SupervisedThread;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.InvalidOffsetException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The reader of the state topic, which copies partitions into the table. The follower's consumer
 * belongs to no consumer group, so a rebalance does not interrupt the follower. A reader of the
 * table first calls {@link #refresh}. The reader then sees all records published before the call,
 * on every instance. So no report shows older figures than an earlier report. Thread-safe.
 */
public final class TableFollower implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TableFollower.class);

  /** Maximum time that {@link #refresh} waits. The method normally waits for a few milliseconds. */
  private static final Duration REFRESH_TIMEOUT = Duration.ofSeconds(3);

  /** The name of the thread and the client id of its Kafka consumers. */
  private static final String CLIENT = "weir-usage-table";

  private static final String TOO_OLD =
      "because Kafka may have removed tombstones since the partition was last up to date";

  private static final Duration NAP = Duration.ofMillis(100);
  private static final Duration PAUSE_AFTER_FAILURE = Duration.ofSeconds(1);
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(10);
  private static final long PLACEMENT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /**
   * Minimum duration of one step of the observer's background work. Within the minimum and the
   * maximum, a step lasts as long as the follower's last write of records. With short steps, the
   * work would hardly progress while many records arrive. With long steps, requests would wait.
   */
  private static final long MIN_WORK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private static final long MAX_WORK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final TableStore store;
  private final KafkaConnection kafka;
  private final Supplier<Set<Integer>> wanted;
  private final Runnable onChange;
  private final TableObserver observer;
  private final MeterRegistry registry;
  private final StateRecords judge;
  private final Barriers barriers = new Barriers();
  private final ReadablePartitions readable = new ReadablePartitions(barriers);
  private final AtomicBoolean polling = new AtomicBoolean();
  private final SupervisedThread thread = new SupervisedThread(CLIENT, new Following());
  private volatile @Nullable Consumer<byte[], byte[]> consumer;

  // used only by the follower's thread
  private final Placement placement = new Placement();
  private final ReadThroughTimes held;
  private long workNanos = MIN_WORK_NANOS;
  private long placedNanos = System.nanoTime() - PLACEMENT_NANOS;

  private TableFollower(
      TableStore store,
      KafkaConnection kafka,
      Supplier<Set<Integer>> wanted,
      Runnable onChange,
      TableObserver observer,
      Duration tombstonesKept,
      MeterRegistry registry) {
    this.store = store;
    this.kafka = kafka;
    this.held = new ReadThroughTimes(tombstonesKept, barriers, System::currentTimeMillis);
    this.wanted = wanted;
    this.onChange = onChange;
    this.observer = observer;
    this.registry = registry;
    this.judge = new StateRecords(registry);
    FunctionCounter.builder("weir.table.damaged", store, TableStore::timesDamaged)
        .description("folders of the usage table that were damaged and therefore renamed")
        .register(registry);
  }

  /**
   * Starts a follower of the partitions that are in the table or placed on this instance.
   *
   * @param store the table; must remain open until this follower is closed
   * @param wanted returns the partitions placed on this instance; called several times a second
   * @param onChange called after the table has changed; must return quickly
   * @param observer receives the changes of the table
   * @param tombstonesKept time for which Kafka keeps a tombstone of the topic. If the follower has
   *     not read a partition for half of this time, it reads the partition again from the beginning
   * @param registry receives the metrics of the Kafka consumer
   */
  public static TableFollower start(
      TableStore store,
      KafkaConnection kafka,
      Supplier<Set<Integer>> wanted,
      Runnable onChange,
      TableObserver observer,
      Duration tombstonesKept,
      MeterRegistry registry) {
    TableFollower follower =
        new TableFollower(store, kafka, wanted, onChange, observer, tombstonesKept, registry);
    follower.thread.start();
    return follower;
  }

  /**
   * Returns the readable partitions. A partition is readable when it has been read to its end since
   * the follower was started.
   */
  public Set<Integer> readable() {
    return readable.all();
  }

  /**
   * Returns whether a partition is readable. If the caller has not called {@link #refresh} before,
   * the rows may be outdated.
   */
  public boolean isReadable(int partition) {
    return readable.contains(partition);
  }

  /**
   * Returns the number of the current copy of a partition. A reader of the table compares the
   * numbers before and after its read. If the numbers differ, the partition was dropped during the
   * read, and the result may lack rows.
   *
   * @return a positive number; 0 if the partition is not readable
   */
  public long reading(int partition) {
    return readable.reading(partition);
  }

  /**
   * Returns whether every partition in the table is readable. Returns false shortly after the
   * start, and while the folder of the table cannot be used.
   */
  public boolean hasReadAllHeld() {
    try {
      return store.positions().keySet().stream().allMatch(this::isReadable);
    } catch (TableException openedAgainByTheThread) {
      return false;
    }
  }

  /**
   * Returns whether the follower has stopped permanently because of an {@link Error} of the JVM.
   */
  public boolean hasFailed() {
    return thread.hasFailed();
  }

  /**
   * Waits until the table contains all records that were published to some partitions before the
   * call. Waits at most 3 s.
   *
   * @return the freshness of each partition
   */
  public SortedMap<Integer, Freshness> refresh(Collection<Integer> partitions)
      throws InterruptedException {
    List<Barrier> requested =
        partitions.stream().filter(this::isReadable).map(Barrier::new).toList();
    barriers.request(requested);
    if (polling.compareAndSet(true, false)) {
      wake();
    }
    SortedMap<Integer, Freshness> found = new TreeMap<>();
    partitions.forEach(partition -> found.put(partition, Freshness.MISSING));
    long end = System.nanoTime() + REFRESH_TIMEOUT.toNanos();
    for (Barrier barrier : requested) {
      found.put(barrier.partition, await(barrier, end - System.nanoTime()));
    }
    return found;
  }

  private static Freshness await(Barrier barrier, long nanos) throws InterruptedException {
    try {
      return barrier.reached.get(Math.max(0, nanos), TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      barrier.reached.complete(Freshness.MISSING);
      return barrier.reached.join();
    } catch (ExecutionException impossible) {
      throw new IllegalStateException("a barrier has completed exceptionally", impossible);
    }
  }

  /** Interrupts the poll in progress, if there is one. */
  private void wake() {
    Consumer<byte[], byte[]> current = consumer;
    if (current != null) {
      current.wakeup();
    }
  }

  /**
   * The work of the follower's thread. Each run reads the topic with its own pair of consumers
   * until it is stopped or fails.
   */
  private final class Following implements SupervisedThread.Work {
    @Override
    public void run() {
      store.recover();
      try (Consumer<byte[], byte[]> ends = StateConsumer.connect(kafka, CLIENT + "-ends");
          Consumer<byte[], byte[]> records = StateConsumer.connect(kafka, CLIENT);
          KafkaClientMetrics metrics = new KafkaClientMetrics(records)) {
        metrics.bindTo(registry);
        consumer = records;
        follow(records, new PartitionEnds(ends));
      } finally {
        consumer = null;
        readable.clear();
        barriers.abandon();
      }
    }

    @Override
    public long failed(Throwable failure) {
      if (failure instanceof TableException) {
        LOG.warn("cannot update the usage table; retrying in 1 s: {}", failure.getMessage());
      } else {
        LOG.warn("cannot update the usage table; retrying in 1 s", failure);
      }
      return PAUSE_AFTER_FAILURE.toMillis();
    }

    @Override
    public void wakeUp(Thread worker) {
      wake();
    }
  }

  private void follow(Consumer<byte[], byte[]> records, PartitionEnds ends) {
    while (!thread.isClosing()) {
      TableException failed = store.failure();
      if (failed != null) {
        throw failed;
      }
      try {
        place(records);
        held.requestBarriers(StateConsumer.assigned(records));
        barriers.findEnds(StateConsumer.assigned(records), ends);
        settle(records); // usually the ends have been reached already
        boolean hasWork = observer.work(workNanos);
        Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> polled =
            upToDate(records, poll(records, hasWork));
        long takenSince = System.nanoTime();
        take(polled);
        workNanos =
            Math.min(MAX_WORK_NANOS, Math.max(MIN_WORK_NANOS, System.nanoTime() - takenSince));
        settle(records);
      } catch (WakeupException wokenByRequest) {
        LOG.trace("woken by a request");
      } catch (InvalidOffsetException gone) {
        restart(
            records, gone.partitions(), "because the topic no longer contains the stored position");
      } finally {
        polling.set(false);
      }
    }
  }

  /**
   * Begins to read the partitions placed on this instance. Drops the partitions that moved to other
   * instances more than {@link Placement#RETENTION} ago.
   */
  private void place(Consumer<byte[], byte[]> records) {
    long now = System.nanoTime();
    if (!records.assignment().isEmpty() && now - placedNanos < PLACEMENT_NANOS) {
      return;
    }
    placedNanos = now;
    Map<Integer, TableStore.Position> positions = store.positions();
    Placement.Decision decision = placement.decide(wanted.get(), positions.keySet(), now);
    Set<TopicPartition> before = records.assignment();
    Set<TopicPartition> after = new HashSet<>();
    decision.followed().forEach(number -> after.add(StateConsumer.partition(number)));
    if (!after.equals(before)) {
      records.assign(after);
      before.stream().filter(one -> !after.contains(one)).forEach(this::forget);
      after.stream()
          .filter(one -> !before.contains(one))
          .forEach(one -> begin(records, one, positions.get(one.partition())));
      LOG.info("usage table follows partitions={}", decision.followed());
    }
    decision.dropped().forEach(this::drop);
  }

  private void begin(
      Consumer<byte[], byte[]> records,
      TopicPartition one,
      TableStore.@Nullable Position position) {
    if (position == null) {
      records.seekToBeginning(List.of(one));
      int late = held.beginFromStart(one.partition());
      if (late > 0) {
        LOG.error(
            "reading partition={} into the usage table took longer than half of the"
                + " delete.retention.ms of topic {} times_in_succession={}; the partition is read"
                + " again with twice the time. Until then, reports may show rows that were"
                + " erased. If Kafka was available and no clock was changed, increase"
                + " delete.retention.ms",
            one.partition(),
            Topics.STATE.name(),
            late);
      }
    } else if (held.isTooOldAt(position.readThroughEpochMillis())) {
      restart(records, Set.of(one), TOO_OLD);
      return;
    } else {
      records.seek(one, position.offset());
      held.begin(one.partition(), position.readThroughEpochMillis());
    }
    observer.end(one.partition());
    readable.begin(one.partition());
  }

  private void forget(TopicPartition one) {
    readable.remove(one.partition());
    held.end(one.partition());
    observer.end(one.partition());
  }

  private void drop(int partition) {
    LOG.info("usage table drops partition={}", partition);
    readable.remove(partition);
    try (TableStore.Changes changes = store.changes()) {
      changes.drop(partition);
      changes.write();
    }
  }

  /**
   * Reads partitions again from the beginning. The reason is that the topic was recreated, or that
   * Kafka may have removed unread tombstones.
   */
  private void restart(
      Consumer<byte[], byte[]> records, Collection<TopicPartition> partitions, String why) {
    for (TopicPartition one : partitions) {
      LOG.warn("usage table reads partition={} again from its beginning {}", one.partition(), why);
      drop(one.partition());
      begin(records, one, null);
    }
  }

  private ConsumerRecords<byte[], byte[]> poll(Consumer<byte[], byte[]> records, boolean hasWork) {
    if (records.assignment().isEmpty()) {
      thread.pause(NAP.toMillis());
      return ConsumerRecords.empty();
    }
    polling.set(true);
    // a request that arrives from now on wakes the poll
    return records.poll(hasWork || barriers.hasRequested() ? Duration.ZERO : NAP);
  }

  /**
   * If a partition is too old, reads that partition again from its beginning. Returns the polled
   * records of the other partitions. The age includes the duration of the poll.
   */
  private Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> upToDate(
      Consumer<byte[], byte[]> records, ConsumerRecords<byte[], byte[]> polled) {
    polling.set(false);
    Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> found = new HashMap<>();
    for (TopicPartition one : polled.partitions()) {
      if (held.isTooOld(one.partition())) {
        restart(records, Set.of(one), TOO_OLD);
      } else {
        found.put(one, polled.records(one));
      }
    }
    return found;
  }

  private void take(Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> records) {
    if (records.isEmpty()) {
      return;
    }
    try (TableStore.Changes changes = store.changes()) {
      for (TopicPartition one : records.keySet()) {
        int partition = one.partition();
        List<ConsumerRecord<byte[], byte[]>> of = records.get(one);
        for (StateRecords.Change change : judge.changes(of)) {
          observer.change(partition, change.key(), change.value());
          changes.put(partition, change.key(), change.value());
        }
        changes.position(
            partition,
            new TableStore.Position(of.get(of.size() - 1).offset() + 1, held.of(partition)));
      }
      changes.write();
    }
    onChange.run();
  }

  private void settle(Consumer<byte[], byte[]> records) {
    barriers.settle(partition -> StateConsumer.position(records, partition));
    readable.settle().forEach(observer::begin);
    Set<Integer> read = held.settle();
    if (!read.isEmpty()) {
      renew(records, read);
    }
  }

  /**
   * Stores the read-through times of partitions that were read to their end. If a partition is too
   * old, reads that partition again from its beginning.
   */
  private void renew(Consumer<byte[], byte[]> records, Set<Integer> read) {
    List<TopicPartition> tooOld =
        read.stream().filter(held::isTooOld).map(StateConsumer::partition).toList();
    try (TableStore.Changes changes = store.changes()) {
      for (int partition : read) {
        long offset = StateConsumer.position(records, partition);
        if (offset != Barrier.UNKNOWN && !held.isTooOld(partition)) {
          changes.position(partition, new TableStore.Position(offset, held.of(partition)));
        }
      }
      changes.write();
    }
    restart(records, tooOld, TOO_OLD);
  }

  @Override
  public void close() {
    thread.close(STOP_TIMEOUT);
  }
}
