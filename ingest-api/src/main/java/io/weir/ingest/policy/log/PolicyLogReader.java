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
 * Not thread-safe, but for {@link #wakeUp} and {@link #progress}.
 *
 * <p>Each entry tells the newest version that has entries in either topic. Compaction removes none
 * of the newest entries of a topic, since they are the newest of their keys; so a reader that comes
 * to the end of both topics knows whether it has everything, and whether a topic was lost.
 */
public final class PolicyLogReader implements AutoCloseable {
  private static final TopicPartition POLICIES = new TopicPartition(Topics.POLICIES.name(), 0);
  private static final TopicPartition CLIENTS = new TopicPartition(Topics.CLIENTS.name(), 0);
  private static final List<TopicPartition> PARTITIONS = List.of(POLICIES, CLIENTS);

  private static final Duration POLL = Duration.ofMillis(50);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);
  private static final int MAX_POLL_RECORDS = 10_000;
  private static final int API_TIMEOUT_MILLIS = 5_000;

  /** How long the end of a change may be behind its beginning. */
  private static final long MOST_PARTING_NANOS = Duration.ofSeconds(5).toNanos();

  /** How often a follower makes sure that Kafka is there, and the topics are those of before. */
  private static final long LOOK_NANOS = Duration.ofSeconds(3).toNanos();

  private static final Duration LOOK_PATIENCE = Duration.ofSeconds(2);

  private static final Logger LOG = LoggerFactory.getLogger(PolicyLogReader.class);

  private final KafkaConsumer<byte[], byte[]> consumer;

  /** The newest entry of each key at the first end, until these have taken effect. */
  private final Map<PolicyKey, PolicyEntry> newest = new HashMap<>();

  /** The newest version with entries in each topic, and how many of them were read. */
  private final Map<String, Newest> newestOf = new HashMap<>();

  /** The offset behind the last record that was read of each topic. */
  private final Map<String, Long> readTo = new HashMap<>();

  /** After the first end: changes that have not taken effect. */
  private final TreeMap<Long, Waiting> waiting = new TreeMap<>();

  /** Records that cannot be read, and that no later change of their key has replaced. */
  private final TreeMap<PolicyKey, String> unreadable = new TreeMap<>();

  private long unreadableVersion;

  private PolicyState state = PolicyState.EMPTY;
  private @Nullable String refusal;
  private boolean wasReadToTheEnd;

  /** The newest version at the first end. */
  private long readThrough;

  private long waitingSinceNanos;
  private long lookedNanos;
  private final AtomicLong progress = new AtomicLong();

  /** The change of the entry that was read last; the entries of a change share it. */
  private PolicyEntry.@Nullable Change lastChange;

  private PolicyLogReader(KafkaConsumer<byte[], byte[]> consumer) {
    this.consumer = consumer;
  }

  /**
   * A change that has not taken effect. It counts its entries as they come: to count them again
   * after every poll would take a time that is quadratic in their number. Not thread-safe.
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

  /** The newest version of a topic. */
  private record Newest(PolicyEntry entry, int read) {
    boolean isWhole() {
      return read == entry.change().parts();
    }
  }

  /** Signals that the log cannot be read on from where it was, and has to be read anew. */
  static final class LogBeganAnewException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    LogBeganAnewException(String message) {
      super(message);
    }
  }

  /** Signals that the log is not whole: a topic of it was lost. */
  public static final class LogNotWholeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    LogNotWholeException(String message) {
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
  public static PolicyLogReader open(KafkaConnection kafka, String clientId) {
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
                MAX_POLL_RECORDS)));
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
   * Returns the keys of which something was read that is not in the state: of records that cannot
   * be read, and of entries that cannot be decided by.
   */
  Set<PolicyKey> keysBeyondTheState() {
    Set<PolicyKey> keys = new HashSet<>(unreadable.keySet());
    newest.values().stream()
        .filter(entry -> !entry.isDeleted())
        .forEach(entry -> keys.add(entry.key()));
    return keys;
  }

  /** Returns the newest entry of a key that was read and is not in the state; null if none is. */
  @Nullable PolicyEntry beyondTheState(PolicyKey key) {
    return newest.get(key);
  }

  /**
   * Returns the newest version with entries in one of the topics; 0 if it has none.
   *
   * @param ofClients whether the topic of clients is meant, or that of policies
   */
  long newestVersion(boolean ofClients) {
    Newest found = newestOf.get((ofClients ? CLIENTS : POLICIES).topic());
    return found == null ? 0 : found.entry.version();
  }

  /** Returns the same, or 0 if not all of its entries can be read. */
  long newestWholeVersion(boolean ofClients) {
    Newest found = newestOf.get((ofClients ? CLIENTS : POLICIES).topic());
    return found == null || !found.isWhole() ? 0 : found.entry.version();
  }

  /** Returns the greatest version of which something was read, whether it is in force or not. */
  long greatestVersion() {
    return Math.max(unreadableVersion, Math.max(newestVersion(false), newestVersion(true)));
  }

  /** Returns a number that grows while records are read. Thread-safe. */
  public long progress() {
    return progress.get();
  }

  /**
   * Reads from the beginning to what is the end of the log now.
   *
   * @param patience longest time in which nothing is read
   * @param listener receives every entry in the order of each topic
   * @return the state then
   * @throws NoSuchLogException if the topics do not exist
   * @throws LogNotWholeException if a topic of the log was lost
   * @throws org.apache.kafka.common.KafkaException if Kafka does not answer
   */
  public PolicyState readToEnd(Duration patience, Consumer<PolicyEntry> listener) {
    requireTopics(patience);
    consumer.assign(PARTITIONS);
    consumer.seekToBeginning(PARTITIONS);
    readOn(patience, listener);
    long giveUpNanos = System.nanoTime() + MOST_PARTING_NANOS;
    for (String lacks = lacks(); lacks != null && unreadable.isEmpty(); lacks = lacks()) {
      if (System.nanoTime() > giveUpNanos) {
        throw new LogNotWholeException(lacks);
      }
      take(consumer.poll(POLL), listener);
      readOn(patience, listener);
    }
    wasReadToTheEnd = true;
    lookedNanos = System.nanoTime();
    readThrough = greatestVersion();
    takeEffectWhatIsWhole();
    return state;
  }

  /** Reads as {@link #readToEnd(Duration, Consumer)} does, without a listener. */
  public PolicyState readToEnd(Duration patience) {
    return readToEnd(patience, entry -> {});
  }

  /**
   * Reads on to what is the end of the log now, after {@link #readToEnd}.
   *
   * @param patience longest time in which nothing is read
   * @param listener receives every entry that is read
   */
  PolicyState catchUp(Duration patience, Consumer<PolicyEntry> listener) {
    readOn(patience, listener);
    long giveUpNanos = System.nanoTime() + MOST_PARTING_NANOS;
    while (true) {
      takeEffectWhatIsWhole();
      if (waiting.isEmpty() || refusal != null) {
        return state;
      }
      if (System.nanoTime() > giveUpNanos) {
        throw new LogBeganAnewException("version " + waiting.firstKey() + " is not whole");
      }
      take(consumer.poll(POLL), listener);
    }
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

  private void readOn(Duration patience, Consumer<PolicyEntry> listener) {
    Map<TopicPartition, Long> ends = new HashMap<>(consumer.endOffsets(PARTITIONS, patience));
    long known = progress.get();
    long deadlineNanos = System.nanoTime() + patience.toNanos();
    while (!isAt(ends, patience)) {
      if (progress.get() != known) {
        known = progress.get();
        deadlineNanos = System.nanoTime() + patience.toNanos();
      } else if (System.nanoTime() > deadlineNanos) {
        throw new TimeoutException("the policies were not read to their end in time");
      }
      take(consumer.poll(POLL), listener);
    }
  }

  private boolean isAt(Map<TopicPartition, Long> ends, Duration patience) {
    for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
      if (consumer.position(end.getKey(), patience) < end.getValue()) {
        return false;
      }
    }
    return true;
  }

  /** Returns what of the newest versions was not read; null if nothing. */
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
        + (found == null ? "" : ", of which " + found.read + " records were read")
        + ": was it deleted? Publish everything again: weir policies apply FILE";
  }

  /**
   * Reads what has been written since.
   *
   * @param longest how long to wait for something to read
   * @return the state then; the same as before if nothing took effect
   * @throws LogBeganAnewException if the log is another than before
   * @throws org.apache.kafka.common.KafkaException if Kafka does not answer
   */
  public PolicyState follow(Duration longest) {
    boolean wasWaiting = !waiting.isEmpty();
    take(consumer.poll(longest), entry -> {});
    if (!wasWaiting) {
      waitingSinceNanos = System.nanoTime();
    }
    takeEffectWhatIsWhole();
    long next = Math.max(state.version(), readThrough) + 1;
    if (!waiting.isEmpty()
        && (refusal == null || waiting.firstKey() != next)
        && System.nanoTime() - waitingSinceNanos > MOST_PARTING_NANOS) {
      throw new LogBeganAnewException(
          "version " + next + " is missing, or version " + waiting.firstKey() + " is not whole");
    }
    look();
    return state;
  }

  /** Makes sure now and then that Kafka answers, and that the topics are those of before. */
  private void look() {
    if (System.nanoTime() - lookedNanos < LOOK_NANOS) {
      return;
    }
    Map<TopicPartition, Long> ends = consumer.endOffsets(PARTITIONS, LOOK_PATIENCE);
    for (TopicPartition partition : PARTITIONS) {
      if (ends.getOrDefault(partition, 0L) < readTo.getOrDefault(partition.topic(), 0L)) {
        throw new LogBeganAnewException(partition.topic() + " is another one than before");
      }
    }
    lookedNanos = System.nanoTime();
  }

  private void take(ConsumerRecords<byte[], byte[]> records, Consumer<PolicyEntry> listener) {
    for (ConsumerRecord<byte[], byte[]> each : records) {
      progress.incrementAndGet();
      readTo.put(each.topic(), each.offset() + 1);
      PolicyEntry entry = decode(each);
      if (entry == null) {
        continue;
      }
      PolicyEntry.Change shared = lastChange;
      if (shared != null && shared.equals(entry.change())) {
        entry = entry.ofChange(shared);
      }
      lastChange = entry.change();
      if (wasReadToTheEnd && entry.version() <= Math.max(state.version(), readThrough)) {
        throw new LogBeganAnewException(
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
      return PolicyEntryCodec.decode(key, each.value());
    } catch (MalformedRecordException malformed) {
      String place = each.topic() + "-" + each.partition() + "-" + each.offset();
      LOG.error("policy_record_malformed record={} detail=\"{}\"", place, malformed.getMessage());
      if (wasReadToTheEnd) {
        throw new LogBeganAnewException("record " + place + " cannot be read");
      }
      unreadable.put(key, "record " + place + ": " + malformed.getMessage());
      unreadableVersion =
          Math.max(unreadableVersion, PolicyEntryCodec.versionIfReadable(each.value()));
      newest.remove(key);
      return null;
    }
  }

  /** Lets the changes that are whole take effect, in the order of their versions. */
  private void takeEffectWhatIsWhole() {
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
   * Lets changes take effect. What cannot be decided by does not; it waits until a later change
   * makes it right.
   *
   * @return whether they have taken effect
   */
  private boolean takeEffect(Collection<PolicyEntry> changes) {
    String reason = null;
    TreeMap<PolicyKey, String> left = new TreeMap<>(unreadable);
    changes.forEach(change -> left.remove(change.key()));
    if (!left.isEmpty()) {
      reason = "what is published cannot be read: " + left.firstEntry().getValue();
    } else {
      try {
        state = changes.isEmpty() ? state : state.after(changes);
      } catch (PolicyState.InvalidPoliciesException invalid) {
        reason = "what is published cannot be decided by: " + invalid.getMessage();
      }
    }
    if (reason != null && !reason.equals(refusal)) {
      LOG.error("policies_refused detail=\"{}\"", reason);
    }
    refusal = reason;
    return reason == null;
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
