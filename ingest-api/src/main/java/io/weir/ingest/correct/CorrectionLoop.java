// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.kafka.KafkaClientMetrics;
import io.weir.ingest.clock.LocalClock;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaRefusal;
import io.weir.topics.process.Backoff;
import io.weir.topics.process.SupervisedThread;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A thread that reads the corrections of this node's partitions and applies them. While an item
 * waits for the cache, the thread pauses the partitions and still polls the consumer, so that the
 * node stays in the group. After any failure of Kafka the thread closes the consumer, and opens a
 * new consumer after a pause. The thread ends only with {@link #close}.
 */
final class CorrectionLoop implements SupervisedThread.Work, AutoCloseable {
  /** The consumer group of all nodes that apply corrections to one cache. */
  private static final String GROUP = "weir-corrections";

  private static final String TOPIC = Topics.CORRECTIONS.name();

  /**
   * Session timeout of the group. When a node has been dead for this time, other nodes take over
   * its partitions.
   */
  private static final int SESSION_TIMEOUT_MILLIS = 10_000;

  private static final int HEARTBEAT_INTERVAL_MILLIS = 3_000;

  /** Time without a reply after which the consumer repeats a request over a new connection. */
  private static final int REQUEST_TIMEOUT_MILLIS = 10_000;

  /**
   * Maximum pause between two attempts. The pause bounds the time until the consumer notices that
   * Kafka is available again.
   */
  private static final int MAX_BACKOFF_MILLIS = 1_000;

  /** Maximum age of metadata. This age bounds the time until the consumer finds new partitions. */
  private static final int METADATA_MAX_AGE_MILLIS = 60_000;

  /**
   * Maximum number of records per poll, equal to four of the largest batches. This number bounds
   * the backlog.
   */
  private static final int MAX_POLL_RECORDS = 1_024;

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(3);

  /** Maximum time of one poll. */
  private static final long MAX_POLL_MILLIS = 500;

  /** Maximum time of one poll until all corrections have been read once. */
  private static final long FIRST_POLL_MILLIS = 50;

  private static final long MIN_PAUSE_MILLIS = 250;
  private static final long MAX_PAUSE_MILLIS = 5_000;
  private static final long TOPIC_PAUSE_MILLIS = 1_000;

  /** Maximum age of the measured lag. */
  private static final long LAG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** Maximum age of the measured lag while a starting node waits for the lag to become zero. */
  private static final long FIRST_LAG_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** Timeout of one request to Kafka. */
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  /**
   * Maximum time that a stop waits for the batch in progress. After this time the stop interrupts
   * the thread, and waits once more.
   */
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(5);

  private final CorrectionSettings settings;
  private final CorrectionQueue queue;
  private final CorrectionStatistics statistics;
  private final CorrectionStatus status;
  private final LocalClock clock;
  private final MeterRegistry registry;
  private final Backoff backoff = new Backoff(MIN_PAUSE_MILLIS, MAX_PAUSE_MILLIS);
  private final SupervisedThread thread;
  private volatile @Nullable KafkaConsumer<byte[], byte[]> consumer;
  private long lagNanos;

  CorrectionLoop(
      CorrectionSettings settings,
      CorrectionQueue queue,
      CorrectionStatistics statistics,
      LocalClock clock,
      MeterRegistry registry) {
    this.settings = settings;
    this.queue = queue;
    this.status = queue.status();
    this.statistics = statistics;
    this.clock = clock;
    this.registry = registry;
    this.thread = new SupervisedThread("weir-corrections", this);
  }

  void start() {
    thread.start();
  }

  @Override
  public void run() {
    useOneConsumer();
  }

  @Override
  public long failed(Throwable failure) {
    if (failure instanceof KafkaException) {
      status.begins(
          CorrectionStatus.Kind.KAFKA, KafkaRefusal.explain(failure, "Read", failure.toString()));
    } else {
      status.failed(failure);
    }
    return backoff.failedMillis();
  }

  /** Wakes the consumer up. Called only to stop the thread. */
  @Override
  public void wakeUp(Thread worker) {
    KafkaConsumer<byte[], byte[]> inUse = consumer;
    if (inUse != null) {
      inUse.wakeup();
    }
  }

  /** Uses one consumer until it fails or the loop is stopped. */
  private void useOneConsumer() {
    KafkaConsumer<byte[], byte[]> opened = open();
    ReadPositions positions = new ReadPositions(opened, queue, statistics, clock);
    consumer = opened;
    try (KafkaClientMetrics metrics = new KafkaClientMetrics(opened)) {
      metrics.bindTo(registry);
      awaitTopic(opened);
      opened.subscribe(Set.of(TOPIC), positions);
      while (!thread.isClosing()) {
        turn(opened, positions);
      }
    } finally {
      consumer = null;
      close(opened, positions);
    }
  }

  /**
   * Opens a consumer. Does not yet contact Kafka.
   *
   * @throws org.apache.kafka.common.KafkaException if no address of Kafka can be resolved
   */
  private KafkaConsumer<byte[], byte[]> open() {
    Map<String, Object> config = new HashMap<>();
    config.put(ConsumerConfig.CLIENT_ID_CONFIG, GROUP + "-" + settings.node());
    config.put(ConsumerConfig.GROUP_ID_CONFIG, GROUP);
    config.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, settings.node());
    // with this assignor a member continues to read the partitions that it keeps during a
    // rebalance
    config.put(
        ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
        CooperativeStickyAssignor.class.getName());
    config.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, MAX_POLL_RECORDS);
    config.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, SESSION_TIMEOUT_MILLIS);
    config.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, HEARTBEAT_INTERVAL_MILLIS);
    config.put(ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, REQUEST_TIMEOUT_MILLIS);
    config.put(CommonClientConfigs.RETRY_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    config.put(ConsumerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    config.put(ConsumerConfig.METADATA_MAX_AGE_CONFIG, METADATA_MAX_AGE_MILLIS);
    return settings.kafka().consumer(config);
  }

  private void close(KafkaConsumer<byte[], byte[]> opened, ReadPositions positions) {
    try {
      positions.commit();
      // a leaving member hands its partitions over immediately, not after the session timeout
      opened.close(
          CloseOptions.timeout(CLOSE_TIMEOUT)
              .withGroupMembershipOperation(
                  thread.isClosing()
                      ? GroupMembershipOperation.LEAVE_GROUP
                      : GroupMembershipOperation.REMAIN_IN_GROUP));
    } catch (KafkaException failed) {
      status.begins(
          CorrectionStatus.Kind.KAFKA, KafkaRefusal.explain(failed, "Read", failed.toString()));
    } finally {
      statistics.handedBack.increment(queue.giveUpAll());
      statistics.nowWaiting(queue.size());
    }
  }

  private void awaitTopic(KafkaConsumer<byte[], byte[]> opened) {
    while (!thread.isClosing() && opened.partitionsFor(TOPIC, TIMEOUT).isEmpty()) {
      status.begins(CorrectionStatus.Kind.TOPIC_MISSING, TOPIC + " does not exist");
      thread.pause(TOPIC_PAUSE_MILLIS);
    }
    status.ends(CorrectionStatus.Kind.STARTING);
    status.ends(CorrectionStatus.Kind.TOPIC_MISSING);
    lagNanos = clock.nowNanos();
  }

  private void turn(KafkaConsumer<byte[], byte[]> opened, ReadPositions positions) {
    if (queue.mayGrow()) {
      opened.resume(opened.paused());
    } else {
      opened.pause(opened.assignment());
    }
    ConsumerRecords<byte[], byte[]> records = opened.poll(Duration.ofMillis(pollMillis()));
    for (ConsumerRecord<byte[], byte[]> record : records) {
      queue.read(record);
    }
    positions.read(records.partitions());
    statistics.nowWaiting(queue.size());
    queue.applyNext();
    positions.commitNowAndThen();
    lagNowAndThen(opened, positions);
  }

  private long pollMillis() {
    if (queue.isEmpty()) {
      return statistics.wereReadToTheEnd() ? MAX_POLL_MILLIS : FIRST_POLL_MILLIS;
    }
    if (queue.isIdle()) {
      return FIRST_POLL_MILLIS; // interval at which deferred items are checked
    }
    // rounded up, so that the loop does not spin during a wait of less than a millisecond
    long waitMillis = (queue.waitNanos() + 999_999) / 1_000_000;
    return Math.max(0, Math.min(MAX_POLL_MILLIS, waitMillis));
  }

  private void lagNowAndThen(KafkaConsumer<byte[], byte[]> opened, ReadPositions positions) {
    boolean isStarting = positions.isAssigned() && !statistics.wereReadToTheEnd();
    long interval = isStarting ? FIRST_LAG_INTERVAL_NANOS : LAG_INTERVAL_NANOS;
    if (clock.nowNanos() - lagNanos < interval) {
      return;
    }
    try {
      long behind = queue.size();
      for (Map.Entry<TopicPartition, Long> end :
          opened.endOffsets(opened.assignment(), TIMEOUT).entrySet()) {
        behind += Math.max(0, end.getValue() - opened.position(end.getKey(), TIMEOUT));
      }
      statistics.lag(behind);
      if (isStarting && behind == 0) {
        statistics.readToTheEnd();
      }
      // this consumer works, so later failures begin with the shortest pause
      status.ends(CorrectionStatus.Kind.KAFKA);
      status.ends(CorrectionStatus.Kind.FAULT);
      backoff.reset();
    } catch (TimeoutException silent) {
      status.begins(CorrectionStatus.Kind.KAFKA, silent.toString());
    }
    lagNanos = clock.nowNanos();
  }

  /**
   * Stops the thread. The thread finishes the batch in progress, or abandons the batch after some
   * seconds. Then the thread commits the position of all records to which the cache has replied.
   */
  @Override
  public void close() {
    thread.close(STOP_TIMEOUT);
    status.stopped();
  }
}
