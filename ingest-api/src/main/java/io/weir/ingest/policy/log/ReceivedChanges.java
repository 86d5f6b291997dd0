// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.weir.topics.catalog.Topics;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The entries that a {@link PolicyLogReader} received, and the resulting state. A change takes
 * effect when all of its entries in both topics were received. Changes take effect in the order of
 * their versions. Not thread-safe.
 *
 * <p>Each entry states, for both topics, the newest version with entries in the topic. Compaction
 * never removes the entries of a topic's newest version, because each is the newest entry of its
 * key. So a reader at the end of both topics can detect missing entries and a lost topic.
 */
final class ReceivedChanges {
  static final TopicPartition POLICIES = new TopicPartition(Topics.POLICIES.name(), 0);
  static final TopicPartition CLIENTS = new TopicPartition(Topics.CLIENTS.name(), 0);

  private static final Logger LOG = LoggerFactory.getLogger(ReceivedChanges.class);

  private final PolicyRecords records = new PolicyRecords();

  /**
   * The newest entry of each key, until the reader first reaches the end of the log. Empty after
   * these entries have taken effect.
   */
  private final Map<PolicyKey, PolicyEntry> newest = new HashMap<>();

  /** The newest version in each topic, and the number of received entries of this version. */
  private final Map<String, Newest> newestOf = new HashMap<>();

  /**
   * By version: the changes that have not taken effect, and that arrived after the reader first
   * reached the end of the log.
   */
  private final TreeMap<Long, Waiting> waiting = new TreeMap<>();

  /** The keys of unreadable records that no later record has replaced, with the reasons. */
  private final TreeMap<PolicyKey, String> unreadable = new TreeMap<>();

  private long unreadableVersion;
  private PolicyLogState state = PolicyLogState.EMPTY;
  private @Nullable String refusal;
  private boolean wasEndReached;

  /** The newest version when the reader first reached the end of the log. */
  private long readThrough;

  /**
   * A change that has not taken effect. The object counts its entries as they arrive, because a
   * count after every poll would take quadratic time.
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

  /** Returns the content of the log up to the newest valid version. */
  PolicyLogState state() {
    return state;
  }

  /** Returns why newer versions than {@link #state} are not in force; null if there are none. */
  @Nullable String refusal() {
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
   * Returns the newest entry of a key that was received but is not part of {@link #state}; null if
   * there is none.
   */
  @Nullable PolicyEntry beyondTheState(PolicyKey key) {
    return newest.get(key);
  }

  /**
   * Looks up the newest version with entries in a topic. Returns this version if all of its entries
   * were received, otherwise 0.
   */
  long newestWholeVersion(TopicPartition topic) {
    Newest found = newestOf.get(topic.topic());
    return found == null || !found.isWhole() ? 0 : found.entry.version();
  }

  /** Returns the greatest version that was received, whether or not it is in force. */
  long greatestVersion() {
    return newestOf.values().stream()
        .mapToLong(each -> each.entry.version())
        .reduce(unreadableVersion, Math::max);
  }

  /**
   * Returns the version of the last change that took effect, or that was received before the reader
   * first reached the end.
   */
  long lastVersion() {
    return Math.max(state.version(), readThrough);
  }

  /**
   * Returns the version of the first change that has not taken effect; 0 if there is no such
   * change.
   */
  long firstWaiting() {
    return waiting.isEmpty() ? 0 : waiting.firstKey();
  }

  /** Returns how many entries of the first waiting change were received; 0 if no change waits. */
  int arrivedOfFirstWaiting() {
    return waiting.isEmpty() ? 0 : waiting.firstEntry().getValue().entries.size();
  }

  /**
   * Returns a message if a topic lacks entries of its newest version. Returns null if both topics
   * are complete, or if a record is unreadable.
   */
  @Nullable String gap() {
    PolicyEntry.Change top = null;
    for (Newest each : newestOf.values()) {
      if (top == null || each.entry.version() > top.version()) {
        top = each.entry.change();
      }
    }
    if (top == null || !unreadable.isEmpty()) {
      return null;
    }
    String ofPolicies = gap(POLICIES.topic(), top.policiesVersion());
    return ofPolicies == null ? gap(CLIENTS.topic(), top.clientsVersion()) : ofPolicies;
  }

  private @Nullable String gap(String topic, long version) {
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
   * Adds a record of the log, and returns its entry; null if the record is unreadable.
   *
   * @throws PolicyLogReader.LogReplacedException if the record cannot follow the earlier records
   */
  @Nullable PolicyEntry add(ConsumerRecord<byte[], byte[]> received) {
    PolicyEntry entry = decode(received);
    if (entry == null) {
      return null;
    }
    if (wasEndReached && entry.version() <= lastVersion()) {
      throw new PolicyLogReader.LogReplacedException(
          "version " + entry.version() + " was written after version " + lastVersion());
    }
    newestOf.merge(
        received.topic(),
        new Newest(entry, 1),
        (known, added) ->
            known.entry.version() == added.entry.version()
                ? new Newest(added.entry, known.read + 1)
                : added);
    if (wasEndReached) {
      waiting.computeIfAbsent(entry.version(), version -> new Waiting()).add(entry);
    } else {
      newest.put(entry.key(), entry);
    }
    return entry;
  }

  private @Nullable PolicyEntry decode(ConsumerRecord<byte[], byte[]> each) {
    String name = each.key() == null ? "" : new String(each.key(), StandardCharsets.UTF_8);
    PolicyKey key = PolicyKey.ofRecord(each.topic(), name);
    try {
      return records.decode(key, each.value());
    } catch (MalformedRecordException malformed) {
      String place = each.topic() + "-" + each.partition() + "-" + each.offset();
      LOG.error("policy_record_malformed record={} detail=\"{}\"", place, malformed.getMessage());
      if (wasEndReached) {
        throw new PolicyLogReader.LogReplacedException("record " + place + " cannot be read");
      }
      unreadable.put(key, "record " + place + ": " + malformed.getMessage());
      unreadableVersion =
          Math.max(unreadableVersion, PolicyEntryCodec.versionIfReadable(each.value()));
      newest.remove(key);
      return null;
    }
  }

  /** Puts the received entries into effect when the reader first reaches the end of the log. */
  void endReached() {
    wasEndReached = true;
    readThrough = greatestVersion();
    applyCompleteChanges();
  }

  /** Puts all complete changes into effect, in the order of their versions. */
  void applyCompleteChanges() {
    List<PolicyEntry> changes = new ArrayList<>(newest.values());
    long last = lastVersion();
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
}
