// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the policy log, which consists of the policies topic and the clients topic. It first reads
 * to the current end, and then follows new records. A change takes effect when all of its entries
 * in both topics were read. Changes take effect in the order of their versions. Not thread-safe,
 * except for {@link #wakeUp} and {@link #progress}.
 *
 * <p>Each entry contains the newest version that has entries in each of the two topics. Compaction
 * never removes the entries of a topic's newest version, because each is the newest of its key. So
 * a reader at the end of both topics can detect missing entries and a lost topic.
 */
public final class PolicyLogReader implements AutoCloseable {
  private static final TopicPartition POLICIES = new TopicPartition(Topics.POLICIES.name(), 0);
  private static final TopicPartition CLIENTS = new TopicPartition(Topics.CLIENTS.name(), 0);
  private static final List<TopicPartition> PARTITIONS = List.of(POLICIES, CLIENTS);

  private static final Duration POLL = Duration.ofMillis(50);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);
  private static final int MAX_POLL_RECORDS = 10_000;
  private static final int API_TIMEOUT_MILLIS = 5_000;

  /** Maximum delay between two entries of a change. */
  private static final long MAX_GAP_NANOS = Duration.ofSeconds(5).toNanos();

  /**
   * Interval at which {@link #follow} checks that Kafka replies and that the topics were not
   * replaced.
   */
  private static final long CHECK_NANOS = Duration.ofSeconds(3).toNanos();

  private static final Duration LOOK_TIMEOUT = Duration.ofSeconds(2);

  private static final Logger LOG = LoggerFactory.getLogger(PolicyLogReader.class);

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final LongSupplier nanoTime;

  /**
   * The newest entry of each key, read up to the first end of the log. Empty after these entries
   * have taken effect.
   */
  private final Map<PolicyKey, PolicyEntry> newest = new HashMap<>();

  /** The newest version in each topic, with the number of its entries that were read. */
  private final Map<String, Newest> newestOf = new HashMap<>();

  /** The offset after the last record read, by topic. */
  private final Map<String, Long> readTo = new HashMap<>();

  /** The changes after the first end of the log that have not taken effect, by version. */
  private final TreeMap<Long, Waiting> waiting = new TreeMap<>();

  /** The unreadable records that no later record of their key has replaced, with the reason. */
  private final TreeMap<PolicyKey, String> unreadable = new TreeMap<>();

  private long unreadableVersion;

  private PolicyLogState state = PolicyLogState.EMPTY;
  private @Nullable String refusal;
  private boolean wasReadToTheEnd;

  /** The newest version when the reader first reached the end of the log. */
  private long readThrough;

  private long waitingSinceNanos;
  private long checkedNanos;
  private final AtomicLong progress = new AtomicLong();

  private final PolicyRecords records = new PolicyRecords();

  private PolicyLogReader(KafkaConsumer<byte[], byte[]> consumer, LongSupplier nanoTime) {
    this.consumer = consumer;
    this.nanoTime = nanoTime;
  }

  /**
   * A change that has not taken effect. It counts its entries as they arrive, because a count after
   * every poll would take quadratic time. Not thread-safe.
   */
  private static final class Waiting {
    private final List<PolicyEntry> entries = new ArrayList<>();
    private int ofPolicies;
    private int ofClients;
    private int missing;

    void add(PolicyEntry entry) {
      entries.add(entry);
      boolean isOfClients = entry.key().partition().equals(CLIENTS);
      boolean isFirst = (isOfClients ? ofClients : ofPolicies) == 0;
      missing += (isFirst ? entry.change().parts() : 0) - 1;
      ofClients += isOfClients ? 1 : 0;
      ofPolicies += isOfClients ? 0 : 1;
    }

    boolean isWhole() {
      PolicyEntry.Change of = entries.get(0).change();
      return missing == 0
          && (of.policiesVersion() == of.version()) == ofPolicies > 0
          && (of.clientsVersion() == of.version()) == ofClients > 0;
    }
  }

  /** The newest version in a topic. */
  private record Newest(PolicyEntry entry, int read) {
    boolean isWhole() {
      return read == entry.change().parts();
    }
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

  /** Opens a reader that takes the time for {@link #follow} from a clock. */
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
    return state;
  }

  /**
   * Returns the reason why newer versions than {@link #state} are not in force; null if there are
   * none. A newer release of Weir or another program may have written them.
   */
  public @Nullable String refusal() {
    return refusal;
  }

  /**
   * Returns the keys of unreadable records and invalid entries, which are not part of {@link
   * #state}.
   */
  Set<PolicyKey> keysBeyondTheState() {
    Set<PolicyKey> keys = new HashSet<>(unreadable.keySet());
    newest.values().stream()
        .filter(entry -> !entry.isDeleted())
        .forEach(entry -> keys.add(entry.key()));
    return keys;
  }

  /**
   * Returns the newest entry of a key that was read but is not part of {@link #state}; null if
   * there is none.
   */
  @Nullable PolicyEntry beyondTheState(PolicyKey key) {
    return newest.get(key);
  }

  /**
   * Returns the newest version with entries in one of the topics; 0 if the topic has none.
   *
   * @param ofClients true for the clients topic, false for the policies topic
   */
  long newestVersion(boolean ofClients) {
    Newest found = newestOf.get((ofClients ? CLIENTS : POLICIES).topic());
    return found == null ? 0 : found.entry.version();
  }

  /**
   * Returns the same as {@link #newestVersion} if all entries of that version were read, otherwise
   * 0.
   */
  long newestWholeVersion(boolean ofClients) {
    Newest found = newestOf.get((ofClients ? CLIENTS : POLICIES).topic());
    return found == null || !found.isWhole() ? 0 : found.entry.version();
  }

  /** Returns the greatest version that was read, whether or not it is in force. */
  long greatestVersion() {
    return Math.max(unreadableVersion, Math.max(newestVersion(false), newestVersion(true)));
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
    for (String lacks = lacks(); lacks != null && unreadable.isEmpty(); lacks = lacks()) {
      if (System.nanoTime() > giveUpNanos) {
        throw new IncompleteLogException(lacks);
      }
      take(consumer.poll(POLL), listener);
      readOn(timeout, listener);
    }
    wasReadToTheEnd = true;
    checkedNanos = System.nanoTime();
    readThrough = greatestVersion();
    applyCompleteChanges();
    return state;
  }

  /** Does the same as {@link #readToEnd(Duration, Consumer)}, without a listener. */
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
      applyCompleteChanges();
      if (waiting.isEmpty() || refusal != null) {
        return state;
      }
      if (System.nanoTime() > giveUpNanos) {
        throw new LogReplacedException("version " + waiting.firstKey() + " is incomplete");
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
   * Returns a description of a newest version whose entries are incomplete; null if both topics are
   * complete.
   */
  private @Nullable String lacks() {
    Newest top = null;
    for (Newest each : newestOf.values()) {
      if (top == null || each.entry.version() > top.entry.version()) {
        top = each;
      }
    }
    if (top == null) {
      return null;
    }
    PolicyEntry.Change change = top.entry.change();
    String ofPolicies = lacks(Topics.POLICIES.name(), change.policiesVersion());
    return ofPolicies == null ? lacks(Topics.CLIENTS.name(), change.clientsVersion()) : ofPolicies;
  }

  private @Nullable String lacks(String topic, long version) {
    Newest found = newestOf.get(topic);
    boolean isRead = found != null && found.entry.version() == version && found.isWhole();
    if (version == 0 || isRead) {
      return null;
    }
    return topic
        + " lacks version "
        + version
        + (found == null ? "" : " (records read: " + found.read + ")")
        + "; the topic may have been deleted. Publish a complete file: weir policies apply FILE";
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
    int arrived = arrivedOfFirstWaiting();
    take(consumer.poll(longest), entry -> {});
    if (arrived == 0 || arrivedOfFirstWaiting() != arrived) {
      waitingSinceNanos = nanoTime.getAsLong();
    }
    applyCompleteChanges();
    long next = Math.max(state.version(), readThrough) + 1;
    if (!waiting.isEmpty()
        && (refusal == null || waiting.firstKey() != next)
        && nanoTime.getAsLong() - waitingSinceNanos > MAX_GAP_NANOS) {
      throw new LogReplacedException(
          "version " + next + " is missing, or version " + waiting.firstKey() + " is incomplete");
    }
    checkTopics();
    return state;
  }

  /** Returns how many entries of the first waiting change were read; 0 if none waits. */
  private int arrivedOfFirstWaiting() {
    return waiting.isEmpty() ? 0 : waiting.firstEntry().getValue().entries.size();
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
      PolicyEntry entry = decode(each);
      if (entry == null) {
        continue;
      }
      if (wasReadToTheEnd && entry.version() <= Math.max(state.version(), readThrough)) {
        throw new LogReplacedException(
            "version "
                + entry.version()
                + " was written after version "
                + Math.max(state.version(), readThrough));
      }
      listener.accept(entry);
      newestOf.merge(
          each.topic(),
          new Newest(entry, 1),
          (known, added) ->
              known.entry.version() == added.entry.version()
                  ? new Newest(added.entry, known.read + 1)
                  : added);
      if (wasReadToTheEnd) {
        waiting.computeIfAbsent(entry.version(), version -> new Waiting()).add(entry);
      } else {
        newest.put(entry.key(), entry);
      }
    }
  }

  private @Nullable PolicyEntry decode(ConsumerRecord<byte[], byte[]> each) {
    String name = each.key() == null ? "" : new String(each.key(), StandardCharsets.UTF_8);
    PolicyKey key = PolicyKey.ofRecord(each.topic(), name);
    try {
      return records.decode(key, each.value());
    } catch (MalformedRecordException malformed) {
      String place = each.topic() + "-" + each.partition() + "-" + each.offset();
      LOG.error("policy_record_malformed record={} detail=\"{}\"", place, malformed.getMessage());
      if (wasReadToTheEnd) {
        throw new LogReplacedException("record " + place + " cannot be read");
      }
      unreadable.put(key, "record " + place + ": " + malformed.getMessage());
      unreadableVersion =
          Math.max(unreadableVersion, PolicyEntryCodec.versionIfReadable(each.value()));
      newest.remove(key);
      return null;
    }
  }

  /** Puts all complete changes into effect, in the order of their versions. */
  private void applyCompleteChanges() {
    List<PolicyEntry> changes = new ArrayList<>(newest.values());
    long last = Math.max(state.version(), readThrough);
    for (Map.Entry<Long, Waiting> change : waiting.entrySet()) {
      if (change.getKey() != last + 1 || !change.getValue().isWhole()) {
        break;
      }
      changes.addAll(change.getValue().entries);
      last = change.getKey();
    }
    if (takeEffect(changes)) {
      newest.clear();
      unreadable.clear();
      waiting.headMap(last, true).clear();
    }
  }

  /**
   * Puts changes into effect. If the result is invalid, the changes wait until a later change
   * corrects them.
   *
   * @return whether the changes took effect
   */
  private boolean takeEffect(Collection<PolicyEntry> changes) {
    String reason = null;
    TreeMap<PolicyKey, String> left = new TreeMap<>(unreadable);
    changes.forEach(change -> left.remove(change.key()));
    if (!left.isEmpty()) {
      reason = "the published policies cannot be read: " + left.firstEntry().getValue();
    } else {
      try {
        state = changes.isEmpty() ? state : state.after(changes);
      } catch (PolicyLogState.InvalidPoliciesException invalid) {
        reason = "the published policies are invalid: " + invalid.getMessage();
      }
    }
    if (reason != null && !reason.equals(refusal)) {
      LOG.error("policies_refused detail=\"{}\"", reason);
    }
    refusal = reason;
    return reason == null;
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
