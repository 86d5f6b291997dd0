// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Durability;
import io.weir.topics.catalog.Topic;
import io.weir.topics.model.BatchHeader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * How calls are recorded. Made with {@link #builder}.
 *
 * @param node name of this ingest node, unique among the nodes of the topic and the same after a
 *     restart
 * @param bootstrapServers Kafka's addresses
 * @param kafkaSettings further settings of the Kafka clients (security), which do not override
 *     those that order and durability rest on
 * @param topic the calls topic
 * @param journalFolder where the journal lies; of this process alone; unused with {@link
 *     Durability#ACKED}
 * @param durability when a call is answered
 * @param fsync true when an append waits for the disk, so that a loss of power loses nothing either
 * @param maxJournalBytes bound on lines that Kafka does not have yet
 * @param whenFull what happens at that bound
 * @param linger how long a line waits for others before its batch is sealed
 * @param maxBatchLines lines at which a batch is sealed without waiting
 * @param maxBatchBytes bytes at which a batch is sealed without waiting
 * @param heartbeatInterval time between the promises of an idle partition
 * @param ackTimeout how long a caller waits for Kafka with {@link Durability#ACKED}
 * @param startTimeout how long a start waits for Kafka
 * @param drainTimeout how long a stop waits for Kafka to take what is held
 */
public record RecordConfig(
    String node,
    String bootstrapServers,
    Map<String, String> kafkaSettings,
    String topic,
    Path journalFolder,
    Durability durability,
    boolean fsync,
    long maxJournalBytes,
    WhenFull whenFull,
    Duration linger,
    int maxBatchLines,
    int maxBatchBytes,
    Duration heartbeatInterval,
    Duration ackTimeout,
    Duration startTimeout,
    Duration drainTimeout) {

  /** Least bound of the journal: room for some batches of every partition. */
  public static final long MIN_JOURNAL_BYTES = 1024 * 1024;

  /** Most bytes held with {@link Durability#ACKED}, where there is only memory. */
  public static final long MAX_MEMORY_JOURNAL_BYTES = 64L * 1024 * 1024;

  public RecordConfig {
    require(BatchHeader.isNodeName(node), "node must be 1 to 64 of A-Za-z0-9._-", node);
    require(!bootstrapServers.isBlank(), "bootstrapServers must not be empty", bootstrapServers);
    kafkaSettings = Map.copyOf(kafkaSettings);
    require(
        maxJournalBytes >= MIN_JOURNAL_BYTES,
        "maxJournalBytes must be at least " + MIN_JOURNAL_BYTES,
        maxJournalBytes);
    require(
        linger.toMillis() >= 1 && linger.toSeconds() < 10, "linger must be 1 ms to 10 s", linger);
    require(
        maxBatchLines >= 1 && maxBatchLines <= BatchHeader.MAX_COUNT,
        "maxBatchLines must be 1 to " + BatchHeader.MAX_COUNT,
        maxBatchLines);
    require(
        maxBatchBytes >= 1024 && maxBatchBytes <= Topic.MAX_RECORD_BYTES / 2,
        "maxBatchBytes must be 1,024 to " + Topic.MAX_RECORD_BYTES / 2,
        maxBatchBytes);
    require(
        heartbeatInterval.toMillis() >= 10,
        "heartbeatInterval must be at least 10 ms",
        heartbeatInterval);
    require(!ackTimeout.isNegative(), "ackTimeout must not be negative", ackTimeout);
    require(!startTimeout.isNegative(), "startTimeout must not be negative", startTimeout);
    require(!drainTimeout.isNegative(), "drainTimeout must not be negative", drainTimeout);
  }

  private static void require(boolean kept, String rule, Object value) {
    if (!kept) {
      throw new IllegalArgumentException(rule + ", is " + value);
    }
  }

  /** Most bytes of calls that Kafka does not have yet, by the kind of journal. */
  public long maxHeldBytes() {
    return switch (durability) {
      case JOURNALED -> maxJournalBytes;
      case ACKED -> Math.min(maxJournalBytes, MAX_MEMORY_JOURNAL_BYTES);
    };
  }

  /**
   * Begins a config with the defaults: journaled, 4 GiB, reject when full, sealed after 20 ms,
   * 1,000 lines or 512 KiB, a heartbeat a second.
   */
  public static RecordConfigBuilder builder(
      String node, String bootstrapServers, Path journalFolder) {
    return new RecordConfigBuilder(node, bootstrapServers, journalFolder);
  }
}
