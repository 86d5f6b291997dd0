// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.weir.topics.catalog.Topics;
import io.weir.topics.log.LogConsumer;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the log of policies from its beginning: first to its end, then on. A change takes effect
 * when all of its entries were read, and in the order of the versions, whichever topic they are in.
 * Not thread-safe, but for {@link #wakeUp}.
 */
public final class PolicyLogReader implements AutoCloseable {
  private static final List<TopicPartition> PARTITIONS =
      List.of(
          new TopicPartition(Topics.POLICIES.name(), 0),
          new TopicPartition(Topics.CLIENTS.name(), 0));

  private static final Duration POLL = Duration.ofMillis(50);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);
  private static final int API_TIMEOUT_MILLIS = 5_000;

  /** How long the end of a change may be behind its beginning. */
  private static final Duration MOST_PARTING = Duration.ofSeconds(5);

  private static final Logger LOG = LoggerFactory.getLogger(PolicyLogReader.class);

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final TreeMap<Long, List<PolicyEntry>> waiting = new TreeMap<>();
  private PolicyState state = PolicyState.EMPTY;
  private @Nullable String refusal;
  private boolean wasReadToTheEnd;

  /** The newest version at the first end; of older changes compaction may have removed entries. */
  private long readThrough;

  private long waitingSinceNanos;

  private PolicyLogReader(KafkaConsumer<byte[], byte[]> consumer) {
    this.consumer = consumer;
  }

  /** Signals that the log cannot be read on from where it was, and has to be read anew. */
  static final class LogBeganAnewException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    LogBeganAnewException(String message) {
      super(message);
    }
  }

  /** Signals that the topics of the log do not exist. */
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
   * Opens a reader that has read nothing yet. Does not contact Kafka.
   *
   * @param clientId the name by which brokers know it
   * @throws org.apache.kafka.common.KafkaException if no address of Kafka can be resolved
   */
  public static PolicyLogReader open(String bootstrapServers, String clientId) {
    return new PolicyLogReader(
        LogConsumer.open(
            bootstrapServers,
            Map.of(
                ConsumerConfig.CLIENT_ID_CONFIG,
                clientId,
                ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                API_TIMEOUT_MILLIS,
                ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG,
                API_TIMEOUT_MILLIS)));
  }

  /** Returns what was read, up to the newest version that can be decided by. */
  public PolicyState state() {
    return state;
  }

  /**
   * Returns why newer versions than that of the state are not in force; null if there are none. A
   * newer release of Weir has written them, or another program.
   */
  public @Nullable String refusal() {
    return refusal;
  }

  /**
   * Reads from the beginning to what is the end of the log now.
   *
   * @param patience longest time to wait for Kafka
   * @param listener receives every entry in the order of each topic
   * @return the state then
   * @throws NoSuchLogException if the topics do not exist
   * @throws org.apache.kafka.common.KafkaException if Kafka does not answer
   */
  public PolicyState readToEnd(Duration patience, Consumer<PolicyEntry> listener) {
    long deadlineNanos = System.nanoTime() + patience.toNanos();
    requireTopics(patience);
    consumer.assign(PARTITIONS);
    consumer.seekToBeginning(PARTITIONS);
    do {
      readTo(ends(deadlineNanos), deadlineNanos, listener);
    } while (isNewestParted());
    wasReadToTheEnd = true;
    readThrough = waiting.isEmpty() ? 0 : waiting.lastKey();
    takeEffect();
    return state;
  }

  /** Reads as {@link #readToEnd(Duration, Consumer)} does, without a listener. */
  public PolicyState readToEnd(Duration patience) {
    return readToEnd(patience, entry -> {});
  }

  private void requireTopics(Duration patience) {
    Set<String> missing = new HashSet<>();
    for (TopicPartition partition : PARTITIONS) {
      if (consumer.partitionsFor(partition.topic(), patience).isEmpty()) {
        missing.add(partition.topic());
      }
    }
    if (!missing.isEmpty()) {
      throw new NoSuchLogException(missing);
    }
  }

  private Map<TopicPartition, Long> ends(long deadlineNanos) {
    return new HashMap<>(consumer.endOffsets(PARTITIONS, left(deadlineNanos)));
  }

  private void readTo(
      Map<TopicPartition, Long> ends, long deadlineNanos, Consumer<PolicyEntry> listener) {
    while (!isAt(ends, deadlineNanos)) {
      take(consumer.poll(POLL), listener);
    }
  }

  private boolean isAt(Map<TopicPartition, Long> ends, long deadlineNanos) {
    for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
      if (consumer.position(end.getKey(), left(deadlineNanos)) < end.getValue()) {
        return false;
      }
    }
    return true;
  }

  private static Duration left(long deadlineNanos) {
    long left = deadlineNanos - System.nanoTime();
    if (left <= 0) {
      throw new TimeoutException("the policies were not read to their end in time");
    }
    return Duration.ofNanos(left);
  }

  /**
   * Returns whether entries of the newest change are on their way in the other topic. Compaction
   * has removed none of them: they are the newest of their keys.
   */
  private boolean isNewestParted() {
    Map.Entry<Long, List<PolicyEntry>> newest = waiting.lastEntry();
    return newest != null && !isWhole(newest.getValue());
  }

  private static boolean isWhole(List<PolicyEntry> change) {
    return change.size() == change.get(0).parts();
  }

  /**
   * Reads what has been written since.
   *
   * @param longest how long to wait for something to read
   * @return the state then; the same as before if nothing took effect
   */
  public PolicyState follow(Duration longest) {
    boolean wasWaiting = !waiting.isEmpty();
    take(consumer.poll(longest), entry -> {});
    if (!wasWaiting) {
      waitingSinceNanos = System.nanoTime();
    }
    takeEffect();
    if (!waiting.isEmpty()
        && refusal == null
        && System.nanoTime() - waitingSinceNanos > MOST_PARTING.toNanos()) {
      throw new LogBeganAnewException(
          "version " + (state.version() + 1) + " is missing before " + waiting.firstKey());
    }
    return state;
  }

  private void take(ConsumerRecords<byte[], byte[]> records, Consumer<PolicyEntry> listener) {
    for (ConsumerRecord<byte[], byte[]> each : records) {
      PolicyEntry entry = decode(each);
      if (entry == null) {
        continue;
      }
      if (wasReadToTheEnd && entry.version() <= state.version()) {
        throw new LogBeganAnewException(
            "version " + entry.version() + " was written after " + state.version());
      }
      listener.accept(entry);
      waiting.computeIfAbsent(entry.version(), version -> new ArrayList<>()).add(entry);
    }
  }

  private static @Nullable PolicyEntry decode(ConsumerRecord<byte[], byte[]> each) {
    try {
      if (each.key() == null) {
        throw new MalformedRecordException("it has no key");
      }
      PolicyKey key =
          PolicyKey.ofRecord(each.topic(), new String(each.key(), StandardCharsets.UTF_8));
      return PolicyEntryCodec.decode(key, each.value());
    } catch (MalformedRecordException malformed) {
      LOG.error(
          "policy_record_malformed record={}-{}-{} detail=\"{}\"; it is passed over",
          each.topic(),
          each.partition(),
          each.offset(),
          malformed.getMessage());
      return null;
    }
  }

  /**
   * Lets the changes that are whole take effect. A state that cannot be decided by does not; the
   * changes wait until a later one makes it right.
   */
  private void takeEffect() {
    List<PolicyEntry> changes = new ArrayList<>();
    long next = state.version() + 1;
    long last = state.version();
    for (Map.Entry<Long, List<PolicyEntry>> change : waiting.entrySet()) {
      boolean isNext = change.getKey() == next && isWhole(change.getValue());
      if (!isNext && change.getKey() > readThrough) {
        break;
      }
      changes.addAll(change.getValue());
      last = change.getKey();
      next = last + 1;
    }
    if (changes.isEmpty()) {
      return;
    }
    try {
      state = state.after(changes);
      refusal = null;
      waiting.headMap(last, true).clear();
    } catch (PolicyState.InvalidPoliciesException invalid) {
      String reason = "version " + last + " cannot be decided by: " + invalid.getMessage();
      if (!reason.equals(refusal)) {
        LOG.error("policies_refused version={} detail=\"{}\"", last, invalid.getMessage());
      }
      refusal = reason;
    }
  }

  /** Ends a wait for Kafka with an exception. Thread-safe. */
  public void wakeUp() {
    consumer.wakeup();
  }

  @Override
  public void close() {
    consumer.close(CloseOptions.timeout(CLOSE_TIMEOUT));
  }
}
