// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import io.weir.topics.catalog.Topics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.InvalidOffsetException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies partitions of the state topic into the table, as a consumer without a group: no rebalance
 * ever stops it. Whoever reads the table asks with {@link #refresh} first, and then sees everything
 * that was published before, whichever instance is asked, so that no report is behind another that
 * was answered earlier. Safe for threads.
 */
public final class TableFollower implements AutoCloseable {
  /** How long a partition that was moved elsewhere is still followed: it may come back. */
  static final Duration RETENTION = Duration.ofMinutes(10);

  private static final Logger LOG = LoggerFactory.getLogger(TableFollower.class);

  /** Longest wait for a partition's end to be read; it is some milliseconds away as a rule. */
  private static final Duration REFRESH_PATIENCE = Duration.ofSeconds(3);

  private static final Duration ENDS_TIMEOUT = Duration.ofSeconds(1);
  private static final Duration POSITION_TIMEOUT = Duration.ofMillis(500);
  private static final Duration NAP = Duration.ofMillis(100);
  private static final long PLACEMENT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
  private static final long AWAY_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final int MAX_POLL_RECORDS = 2_000;
  private static final int MAX_FETCH_BYTES = 16 * 1024 * 1024;

  private final TableStore store;
  private final Map<String, Object> settings;
  private final Supplier<Set<Integer>> placement;
  private final Runnable onChange;
  private final Queue<Barrier> asked = new ConcurrentLinkedQueue<>();
  private final Set<Integer> readable = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean polling = new AtomicBoolean();
  private final CountDownLatch closing = new CountDownLatch(1);
  private final Thread thread = new Thread(this::run, "weir-usage-table");
  private volatile @Nullable Consumer<byte[], byte[]> consumer;

  // the thread's own
  private final List<Barrier> pending = new ArrayList<>();
  private final Map<Integer, Long> placedNanos = new HashMap<>();
  private final Map<Integer, Barrier> firstReading = new HashMap<>();
  private long placementNanos = System.nanoTime() - PLACEMENT_NANOS;
  private long awaySinceNanos = System.nanoTime() - AWAY_NANOS;

  private TableFollower(
      TableStore store,
      String bootstrapServers,
      Supplier<Set<Integer>> placement,
      Runnable onChange) {
    this.store = store;
    this.settings = settings(bootstrapServers);
    this.placement = placement;
    this.onChange = onChange;
  }

  /**
   * Starts to follow what the table holds already and what is placed here.
   *
   * @param store stays open for as long as this is not closed
   * @param placement the partitions that belong here at the moment; asked some times a second
   * @param onChange called after the table has changed; must be quick
   */
  public static TableFollower start(
      TableStore store,
      String bootstrapServers,
      Supplier<Set<Integer>> placement,
      Runnable onChange) {
    TableFollower follower = new TableFollower(store, bootstrapServers, placement, onChange);
    follower.thread.setDaemon(true);
    follower.thread.start();
    return follower;
  }

  private static Map<String, Object> settings(String bootstrapServers) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
    settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, MAX_POLL_RECORDS);
    settings.put(ConsumerConfig.FETCH_MAX_BYTES_CONFIG, MAX_FETCH_BYTES);
    settings.put(ConsumerConfig.ENABLE_METRICS_PUSH_CONFIG, false);
    return settings;
  }

  /** The partitions that can be read: each has been read up to an end since the start. */
  public Set<Integer> readable() {
    return Set.copyOf(readable);
  }

  /** Whether a partition can be read; what is seen may be old unless it is {@link #refresh}ed. */
  public boolean isReadable(int partition) {
    return readable.contains(partition);
  }

  /** Waits until the table holds all that was published of some partitions before now. */
  public SortedMap<Integer, Freshness> refresh(Collection<Integer> partitions)
      throws InterruptedException {
    List<Barrier> barriers =
        partitions.stream().filter(this::isReadable).map(Barrier::new).toList();
    ask(barriers);
    SortedMap<Integer, Freshness> found = new TreeMap<>();
    partitions.forEach(partition -> found.put(partition, Freshness.MISSING));
    long end = System.nanoTime() + REFRESH_PATIENCE.toNanos();
    for (Barrier barrier : barriers) {
      found.put(barrier.partition, await(barrier, end - System.nanoTime()));
    }
    return found;
  }

  private static Freshness await(Barrier barrier, long nanos) throws InterruptedException {
    try {
      return barrier.reached.get(Math.max(0, nanos), TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      barrier.reached.complete(Freshness.MISSING);
      return Freshness.MISSING;
    } catch (ExecutionException impossible) {
      throw new IllegalStateException("a barrier is never failed", impossible);
    }
  }

  private void ask(List<Barrier> barriers) {
    asked.addAll(barriers);
    Consumer<byte[], byte[]> current = consumer;
    if (polling.compareAndSet(true, false) && current != null) {
      current.wakeup();
    }
  }

  private void run() {
    while (!isClosing()) {
      // the ends are asked for on a connection of their own, or they wait for a fetch to return
      try (Consumer<byte[], byte[]> ends = new KafkaConsumer<>(settings);
          Consumer<byte[], byte[]> fresh = new KafkaConsumer<>(settings)) {
        consumer = fresh;
        follow(fresh, ends);
      } catch (RuntimeException failed) {
        if (!isClosing()) {
          LOG.warn("usage table is not followed, tried again in a second", failed);
        }
      } finally {
        consumer = null;
        abandon();
      }
    }
    abandon();
  }

  private boolean isClosing() {
    return closing.getCount() == 0;
  }

  /** Nobody waits for what will not come. */
  private void abandon() {
    takeAsked();
    pending.forEach(barrier -> barrier.reached.complete(Freshness.MISSING));
    pending.clear();
    firstReading.clear();
    readable.clear();
    placementNanos = System.nanoTime() - PLACEMENT_NANOS;
    awaitClosing(Duration.ofSeconds(1));
  }

  private boolean awaitClosing(Duration atMost) {
    try {
      return closing.await(atMost.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException interrupted) {
      closing.countDown(); // nobody interrupts this thread but to end it
      return true;
    }
  }

  private void follow(Consumer<byte[], byte[]> from, Consumer<byte[], byte[]> ends) {
    while (!isClosing()) {
      try {
        place(from);
        takeAsked();
        findEnds(from.assignment(), ends);
        settle(from); // as a rule the ends are reached already
        take(poll(from));
        settle(from);
      } catch (WakeupException somebodyAsks) {
        LOG.trace("asked");
      } catch (InvalidOffsetException gone) {
        restart(from, gone.partitions());
      } finally {
        polling.set(false);
      }
    }
  }

  private void takeAsked() {
    for (Barrier next = asked.poll(); next != null; next = asked.poll()) {
      pending.add(next);
    }
  }

  /** Begins with partitions that came, and drops those that went long ago. */
  private void place(Consumer<byte[], byte[]> from) {
    long now = System.nanoTime();
    if (now - placementNanos < PLACEMENT_NANOS) {
      return;
    }
    placementNanos = now;
    Map<Integer, Long> positions = store.positions();
    Set<Integer> wanted = placement.get();
    wanted.forEach(partition -> placedNanos.put(partition, now));
    Set<Integer> followed = new TreeSet<>(wanted);
    for (int partition : positions.keySet()) {
      long placed = placedNanos.computeIfAbsent(partition, unknown -> now);
      if (now - placed < RETENTION.toNanos()) {
        followed.add(partition);
      } else {
        drop(partition);
      }
    }
    Set<TopicPartition> before = from.assignment();
    Set<TopicPartition> after = new HashSet<>();
    followed.forEach(partition -> after.add(topicPartition(partition)));
    if (after.equals(before)) {
      return;
    }
    from.assign(after);
    for (TopicPartition one : after) {
      if (!before.contains(one)) {
        begin(from, one, positions.get(one.partition()));
      }
    }
    LOG.info("usage table follows partitions={}", followed);
  }

  private void begin(Consumer<byte[], byte[]> from, TopicPartition one, @Nullable Long position) {
    if (position == null) {
      from.seekToBeginning(List.of(one));
    } else {
      from.seek(one, position);
    }
    readable.remove(one.partition());
    Barrier first = new Barrier(one.partition());
    firstReading.put(one.partition(), first);
    pending.add(first);
  }

  private void drop(int partition) {
    LOG.info("usage table drops partition={}", partition);
    readable.remove(partition);
    firstReading.remove(partition);
    try (TableStore.Changes changes = store.changes()) {
      changes.drop(partition);
      changes.write();
    }
  }

  /** The topic does not hold what was read up to: it was made anew. */
  private void restart(Consumer<byte[], byte[]> from, Set<TopicPartition> partitions) {
    for (TopicPartition one : partitions) {
      LOG.warn("usage table reads partition={} again from its beginning", one.partition());
      drop(one.partition());
      begin(from, one, null);
    }
  }

  private void findEnds(Set<TopicPartition> followed, Consumer<byte[], byte[]> ends) {
    Set<TopicPartition> unknown = new HashSet<>();
    for (Barrier barrier : pending) {
      if (!barrier.needsEnd()) {
        continue;
      }
      TopicPartition wanted = topicPartition(barrier.partition);
      if (followed.contains(wanted)) {
        unknown.add(wanted);
      } else {
        barrier.reached.complete(Freshness.MISSING);
      }
    }
    if (unknown.isEmpty()) {
      return;
    }
    Map<TopicPartition, Long> found = isAway() ? Map.of() : find(ends, unknown);
    for (Barrier barrier : pending) {
      Long end = found.get(topicPartition(barrier.partition));
      if (barrier.needsEnd() && end != null) {
        barrier.endsAt(end);
      } else if (barrier.needsEnd()) {
        barrier.reached.complete(Freshness.KAFKA_AWAY);
      }
    }
  }

  private boolean isAway() {
    return System.nanoTime() - awaySinceNanos < AWAY_NANOS;
  }

  private Map<TopicPartition, Long> find(
      Consumer<byte[], byte[]> ends, Set<TopicPartition> partitions) {
    try {
      return ends.endOffsets(partitions, ENDS_TIMEOUT);
    } catch (org.apache.kafka.common.errors.TimeoutException away) {
      LOG.debug("Kafka does not tell the end of the state topic", away);
      awaySinceNanos = System.nanoTime();
      return Map.of();
    }
  }

  private ConsumerRecords<byte[], byte[]> poll(Consumer<byte[], byte[]> from) {
    if (from.assignment().isEmpty()) {
      awaitClosing(NAP);
      return ConsumerRecords.empty();
    }
    polling.set(true);
    // whoever asks from here on wakes the poll
    return from.poll(asked.isEmpty() ? NAP : Duration.ZERO);
  }

  private void take(ConsumerRecords<byte[], byte[]> records) {
    polling.set(false);
    if (records.isEmpty()) {
      return;
    }
    try (TableStore.Changes changes = store.changes()) {
      for (ConsumerRecord<byte[], byte[]> record : records) {
        if (record.key() != null) { // not ours: a compacted topic has no use for it either
          changes.put(record.partition(), record.key(), record.value());
        }
      }
      for (TopicPartition one : records.partitions()) {
        List<ConsumerRecord<byte[], byte[]>> of = records.records(one);
        changes.position(one.partition(), of.get(of.size() - 1).offset() + 1);
      }
      changes.write();
    }
    onChange.run();
  }

  /** Answers those whose end is reached. */
  private void settle(Consumer<byte[], byte[]> from) {
    if (pending.isEmpty()) {
      return;
    }
    Map<Integer, Long> reached = new HashMap<>();
    pending.removeIf(
        barrier ->
            barrier.isDone(reached.computeIfAbsent(barrier.partition, p -> position(from, p))));
    firstReading.forEach(this::settleFirst);
    firstReading.keySet().removeAll(readable);
  }

  private void settleFirst(int partition, Barrier first) {
    Freshness found = first.reached.getNow(Freshness.MISSING);
    if (found == Freshness.UP_TO_DATE) {
      readable.add(partition);
      LOG.info("usage table has partition={}", partition);
    } else if (first.reached.isDone()) {
      Barrier again = new Barrier(partition);
      firstReading.put(partition, again); // no structural change
      pending.add(again);
    }
  }

  private static long position(Consumer<byte[], byte[]> from, int partition) {
    TopicPartition one = topicPartition(partition);
    if (!from.assignment().contains(one)) {
      return Barrier.UNKNOWN;
    }
    try {
      return from.position(one, POSITION_TIMEOUT);
    } catch (org.apache.kafka.common.errors.TimeoutException notYet) {
      return Barrier.UNKNOWN;
    }
  }

  private static TopicPartition topicPartition(int partition) {
    return new TopicPartition(Topics.STATE.name(), partition);
  }

  @Override
  public void close() {
    closing.countDown();
    Consumer<byte[], byte[]> current = consumer;
    if (current != null) {
      current.wakeup();
    }
    try {
      thread.join(TimeUnit.SECONDS.toMillis(10));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
