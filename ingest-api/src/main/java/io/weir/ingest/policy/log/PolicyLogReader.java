// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Reads the policy log, which consists of the policies topic and the clients topic. The reader
 * first reads to the current end, and then follows new records. Not thread-safe, except for {@link
 * #wakeUp} and {@link #progress}.
 */
public final class PolicyLogReader implements AutoCloseable {
  private static final List<TopicPartition> PARTITIONS =
      List.of(ReceivedChanges.POLICIES, ReceivedChanges.CLIENTS);

  private static final Duration POLL = Duration.ofMillis(50);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);
  private static final int MAX_POLL_RECORDS = 10_000;
  private static final int API_TIMEOUT_MILLIS = 5_000;

  /** Maximum time between the arrivals of two entries of one change. */
  private static final long MAX_GAP_NANOS = Duration.ofSeconds(5).toNanos();

  /**
   * Interval at which {@link #follow} checks that Kafka replies and that the topics were not
   * replaced.
   */
  private static final long CHECK_NANOS = Duration.ofSeconds(3).toNanos();

  private static final Duration LOOK_TIMEOUT = Duration.ofSeconds(2);

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final LongSupplier nanoTime;

  /** By topic: the offset after the last record that was read. */
  private final Map<String, Long> readTo = new HashMap<>();

  private final ReceivedChanges received = new ReceivedChanges();
  private long waitingSinceNanos;
  private long checkedNanos;
  private final AtomicLong progress = new AtomicLong();

  private PolicyLogReader(KafkaConsumer<byte[], byte[]> consumer, LongSupplier nanoTime) {
    this.consumer = consumer;
    this.nanoTime = nanoTime;
  }

  /**
   * Thrown when the reader cannot continue at its position, so that the log must be read again from
   * its beginning.
   */
  static final class LogReplacedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    LogReplacedException(String message) {
      super(message);
    }
  }

  /** Thrown when the log is incomplete, because one of its topics was lost. */
  public static final class IncompleteLogException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    IncompleteLogException(String message) {
      super(message);
    }
  }

  /** Thrown when the topics of the log do not exist. */
  public static final class NoSuchLogException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NoSuchLogException(Collection<String> missing) {
      super(
          "topics are missing: "
              + missing.stream().sorted().toList()
              + "; create them with 'weir topics create'");
    }
  }

  /**
   * Opens a reader at the beginning of the log. Does not contact Kafka.
   *
   * @param clientId the client id of the Kafka consumer
   * @throws org.apache.kafka.common.KafkaException if no address of Kafka can be resolved
   */
  public static PolicyLogReader open(KafkaConnection kafka, String clientId) {
    return open(kafka, clientId, System::nanoTime);
  }

  /** Opens a reader that measures time in {@link #follow} with the given clock. */
  static PolicyLogReader open(KafkaConnection kafka, String clientId, LongSupplier nanoTime) {
    return new PolicyLogReader(
        kafka.consumer(
            Map.of(
                ConsumerConfig.CLIENT_ID_CONFIG,
                clientId,
                ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                API_TIMEOUT_MILLIS,
                ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG,
                API_TIMEOUT_MILLIS,
                ConsumerConfig.MAX_POLL_RECORDS_CONFIG,
                MAX_POLL_RECORDS)),
        nanoTime);
  }

  /** Returns the content of the log up to the newest valid version. */
  public PolicyLogState state() {
    return received.state();
  }

  /**
   * Returns the reason why newer versions than {@link #state} are not in force; null if there are
   * none. A newer release of Weir or another program may have written these versions.
   */
  public @Nullable String refusal() {
    return received.refusal();
  }

  /** Returns the received entries, including those that are not part of {@link #state}. */
  ReceivedChanges received() {
    return received;
  }

  /** Returns the number of records read so far. Thread-safe. */
  public long progress() {
    return progress.get();
  }

  /**
   * Reads from the beginning to the current end of the log.
   *
   * @param timeout maximum time without a new record
   * @param listener receives every entry; the entries of one topic arrive in order
   * @return the state at the end of the log
   * @throws NoSuchLogException if the topics do not exist
   * @throws IncompleteLogException if a topic of the log was lost
   * @throws org.apache.kafka.common.KafkaException if Kafka does not reply
   */
  public PolicyLogState readToEnd(Duration timeout, Consumer<PolicyEntry> listener) {
    requireTopics(timeout);
    consumer.assign(PARTITIONS);
    consumer.seekToBeginning(PARTITIONS);
    readOn(timeout, listener);
    long giveUpNanos = System.nanoTime() + MAX_GAP_NANOS;
    for (String gap = received.gap(); gap != null; gap = received.gap()) {
      if (System.nanoTime() > giveUpNanos) {
        throw new IncompleteLogException(gap);
      }
      take(consumer.poll(POLL), listener);
      readOn(timeout, listener);
    }
    checkedNanos = System.nanoTime();
    received.endReached();
    return state();
  }

  /**
   * Reads the log to its end as {@link #readToEnd(Duration, Consumer)} does, without a listener.
   */
  public PolicyLogState readToEnd(Duration timeout) {
    return readToEnd(timeout, entry -> {});
  }

  /**
   * Reads the records written since {@link #readToEnd}, up to the current end of the log.
   *
   * @param timeout maximum time without a new record
   * @param listener receives every entry that is read
   */
  PolicyLogState catchUp(Duration timeout, Consumer<PolicyEntry> listener) {
    readOn(timeout, listener);
    long giveUpNanos = System.nanoTime() + MAX_GAP_NANOS;
    while (true) {
      received.applyCompleteChanges();
      if (received.firstWaiting() == 0 || refusal() != null) {
        return state();
      }
      if (System.nanoTime() > giveUpNanos) {
        throw new LogReplacedException("version " + received.firstWaiting() + " is incomplete");
      }
      take(consumer.poll(POLL), listener);
    }
  }

  private void requireTopics(Duration timeout) {
    Set<String> missing = new HashSet<>();
    for (TopicPartition partition : PARTITIONS) {
      if (consumer.partitionsFor(partition.topic(), timeout).isEmpty()) {
        missing.add(partition.topic());
      }
    }
    if (!missing.isEmpty()) {
      throw new NoSuchLogException(missing);
    }
  }

  private void readOn(Duration timeout, Consumer<PolicyEntry> listener) {
    Map<TopicPartition, Long> ends = new HashMap<>(consumer.endOffsets(PARTITIONS, timeout));
    long known = progress.get();
    long deadlineNanos = System.nanoTime() + timeout.toNanos();
    while (!isAt(ends, timeout)) {
      if (progress.get() != known) {
        known = progress.get();
        deadlineNanos = System.nanoTime() + timeout.toNanos();
      } else if (System.nanoTime() > deadlineNanos) {
        throw new TimeoutException("timed out while reading the log of policies to its end");
      }
      take(consumer.poll(POLL), listener);
    }
  }

  private boolean isAt(Map<TopicPartition, Long> ends, Duration timeout) {
    for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
      if (consumer.position(end.getKey(), timeout) < end.getValue()) {
        return false;
      }
    }
    return true;
  }

  /**
   * Reads the records written since the previous call.
   *
   * @param longest maximum time to wait for a record
   * @return the state after reading; the same object as before if no change took effect
   * @throws LogReplacedException if a topic was replaced, or the log has a gap
   * @throws org.apache.kafka.common.KafkaException if Kafka does not reply
   */
  public PolicyLogState follow(Duration longest) {
    int arrived = received.arrivedOfFirstWaiting();
    take(consumer.poll(longest), entry -> {});
    if (arrived == 0 || received.arrivedOfFirstWaiting() != arrived) {
      waitingSinceNanos = nanoTime.getAsLong();
    }
    received.applyCompleteChanges();
    long first = received.firstWaiting();
    long next = received.lastVersion() + 1;
    if (first != 0
        && (refusal() == null || first != next)
        && nanoTime.getAsLong() - waitingSinceNanos > MAX_GAP_NANOS) {
      throw new LogReplacedException(
          "version " + next + " is missing, or version " + first + " is incomplete");
    }
    checkTopics();
    return state();
  }

  /** Checks from time to time that Kafka replies, and that the topics were not replaced. */
  private void checkTopics() {
    if (System.nanoTime() - checkedNanos < CHECK_NANOS) {
      return;
    }
    Map<TopicPartition, Long> ends = consumer.endOffsets(PARTITIONS, LOOK_TIMEOUT);
    for (TopicPartition partition : PARTITIONS) {
      if (ends.getOrDefault(partition, 0L) < readTo.getOrDefault(partition.topic(), 0L)) {
        throw new LogReplacedException(partition.topic() + " was replaced by another topic");
      }
    }
    checkedNanos = System.nanoTime();
  }

  private void take(ConsumerRecords<byte[], byte[]> polled, Consumer<PolicyEntry> listener) {
    for (ConsumerRecord<byte[], byte[]> each : polled) {
      progress.incrementAndGet();
      readTo.put(each.topic(), each.offset() + 1);
      PolicyEntry entry = received.add(each);
      if (entry != null) {
        listener.accept(entry);
      }
    }
  }

  /**
   * Interrupts a wait for Kafka with a {@link org.apache.kafka.common.errors.WakeupException}.
   * Thread-safe.
   */
  public void wakeUp() {
    consumer.wakeup();
  }

  @Override
  public void close() {
    consumer.close(CloseOptions.timeout(CLOSE_TIMEOUT));
  }
}
