// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Durability;
import io.weir.topics.catalog.Topic;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The configuration of a {@link KafkaCallLog}, built with {@link #builder}. Immutable.
 *
 * @param node name of this ingest node, unique among all nodes and unchanged by a restart
 * @param kafka the connection to Kafka
 * @param journalFolder folder of the journal, which only this process may use; not used with {@link
 *     Durability#ACKED}
 * @param durability how durable a call's record must be before the node answers the call
 * @param fsync whether an append waits until the disk has stored the lines, so that a power loss
 *     loses no call
 * @param maxJournalBytes maximum number of bytes of lines that Kafka has not acknowledged
 * @param whenFull the treatment of a call when the journal has reached {@code maxJournalBytes}
 * @param linger time that a line waits for further lines before its batch is sealed
 * @param maxBatchLines number of lines at which a batch is sealed immediately
 * @param maxBatchBytes number of bytes at which a batch is sealed immediately
 * @param heartbeatInterval time between two heartbeats; a heartbeat carries the low watermark of an
 *     idle partition
 * @param ackTimeout maximum time that a caller waits for Kafka with {@link Durability#ACKED}
 * @param startTimeout maximum time that a start waits for Kafka
 * @param drainTimeout maximum time that a stop waits until Kafka has acknowledged the pending lines
 * @param callsTimeout maximum time that a stop waits for calls in progress; longer than the maximum
 *     duration of a request
 * @param finalHeartbeatTimeout maximum time that a stop waits for the final heartbeats; without
 *     them, windows close later
 * @param failureStands time for which the log is unhealthy after a failed write or an unexpected
 *     exception. After this time the node gets calls again, which show whether the log works again
 */
public record RecordConfig(
    String node,
    KafkaConnection kafka,
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
    Duration drainTimeout,
    Duration callsTimeout,
    Duration finalHeartbeatTimeout,
    Duration failureStands) {

  /** Minimum of {@code maxJournalBytes}, enough for some batches of every partition. */
  public static final long MIN_JOURNAL_BYTES = 1024 * 1024;

  /**
   * Maximum number of unacknowledged bytes with {@link Durability#ACKED}, which keeps lines only in
   * memory.
   */
  public static final long MAX_MEMORY_JOURNAL_BYTES = 64L * 1024 * 1024;

  public RecordConfig {
    require(
        BatchHeader.isNodeName(node),
        "node must have 1 to 64 characters from " + "A-Za-z0-9._-",
        node);
    require(
        maxJournalBytes >= MIN_JOURNAL_BYTES,
        "maxJournalBytes must be at least " + MIN_JOURNAL_BYTES,
        maxJournalBytes);
    require(
        linger.toMillis() >= 1 && linger.toSeconds() < 10,
        "linger must be at least 1 ms and " + "less than 10 s",
        linger);
    require(
        maxBatchLines >= 1 && maxBatchLines <= BatchHeader.MAX_COUNT,
        "maxBatchLines must be between 1 and " + BatchHeader.MAX_COUNT,
        maxBatchLines);
    require(
        maxBatchBytes >= 1024 && maxBatchBytes <= Topic.MAX_RECORD_BYTES / 2,
        "maxBatchBytes must be between 1024 and " + Topic.MAX_RECORD_BYTES / 2,
        maxBatchBytes);
    require(
        heartbeatInterval.toMillis() >= 10,
        "heartbeatInterval must be at least 10 ms",
        heartbeatInterval);
    require(!ackTimeout.isNegative(), "ackTimeout must not be negative", ackTimeout);
    require(!startTimeout.isNegative(), "startTimeout must not be negative", startTimeout);
    require(!drainTimeout.isNegative(), "drainTimeout must not be negative", drainTimeout);
    require(!callsTimeout.isNegative(), "callsTimeout must not be negative", callsTimeout);
    require(
        !finalHeartbeatTimeout.isNegative(),
        "finalHeartbeatTimeout must not be negative",
        finalHeartbeatTimeout);
    require(!failureStands.isNegative(), "failureStands must not be negative", failureStands);
  }

  private static void require(boolean kept, String rule, Object value) {
    if (!kept) {
      throw new IllegalArgumentException(rule + ", but is " + value);
    }
  }

  /** Returns the maximum number of bytes of lines that Kafka has not acknowledged. */
  public long maxHeldBytes() {
    return switch (durability) {
      case JOURNALED -> maxJournalBytes;
      case ACKED -> Math.min(maxJournalBytes, MAX_MEMORY_JOURNAL_BYTES);
    };
  }

  /**
   * Returns a builder with the default values: durability journaled, a journal of 4 GiB, and
   * rejection of calls when the journal is full. A batch is sealed after 20 ms, 1,000 lines or 512
   * KiB, and there is one heartbeat per second.
   */
  public static Builder builder(String node, KafkaConnection kafka, Path journalFolder) {
    return new Builder(node, kafka, journalFolder);
  }

  /** The treatment of a call when the journal is at its limit. */
  public enum WhenFull {
    /** The node refuses the call, so that no record is lost. */
    REJECT,
    /** The node answers the call but does not record it. A metric counts the loss. */
    DROP
  }

  /** Builds a {@link RecordConfig}. Each method sets the component with the same name. */
  @SuppressWarnings("CanIgnoreReturnValueSuggester") // its annotation is not on the class path
  public static final class Builder {
    private final String node;
    private final KafkaConnection kafka;
    private final Path journalFolder;
    private Durability durability = Durability.JOURNALED;
    private boolean fsync;
    private long maxJournalBytes = 4L * 1024 * 1024 * 1024;
    private WhenFull whenFull = WhenFull.REJECT;
    private Duration linger = Duration.ofMillis(20);
    private int maxBatchLines = 1_000;
    private int maxBatchBytes = 512 * 1024;
    private Duration heartbeatInterval = Duration.ofSeconds(1);
    private Duration ackTimeout = Duration.ofSeconds(5);
    private Duration startTimeout = Duration.ofSeconds(15);
    private Duration drainTimeout = Duration.ofSeconds(30);
    private Duration callsTimeout = Duration.ofSeconds(5);
    private Duration finalHeartbeatTimeout = Duration.ofSeconds(3);
    private Duration failureStands = Duration.ofSeconds(10);

    Builder(String node, KafkaConnection kafka, Path journalFolder) {
      this.node = node;
      this.kafka = kafka;
      this.journalFolder = journalFolder;
    }

    public Builder durability(Durability value) {
      durability = value;
      return this;
    }

    public Builder fsync(boolean value) {
      fsync = value;
      return this;
    }

    public Builder maxJournalBytes(long bytes) {
      maxJournalBytes = bytes;
      return this;
    }

    public Builder whenFull(WhenFull value) {
      whenFull = value;
      return this;
    }

    public Builder linger(Duration length) {
      linger = length;
      return this;
    }

    public Builder maxBatchLines(int lines) {
      maxBatchLines = lines;
      return this;
    }

    public Builder maxBatchBytes(int bytes) {
      maxBatchBytes = bytes;
      return this;
    }

    public Builder heartbeatInterval(Duration length) {
      heartbeatInterval = length;
      return this;
    }

    public Builder ackTimeout(Duration length) {
      ackTimeout = length;
      return this;
    }

    public Builder startTimeout(Duration length) {
      startTimeout = length;
      return this;
    }

    public Builder drainTimeout(Duration length) {
      drainTimeout = length;
      return this;
    }

    Builder callsTimeout(Duration length) {
      callsTimeout = length;
      return this;
    }

    Builder finalHeartbeatTimeout(Duration length) {
      finalHeartbeatTimeout = length;
      return this;
    }

    Builder failureStands(Duration length) {
      failureStands = length;
      return this;
    }

    public RecordConfig build() {
      return new RecordConfig(
          node,
          kafka,
          journalFolder,
          durability,
          fsync,
          maxJournalBytes,
          whenFull,
          linger,
          maxBatchLines,
          maxBatchBytes,
          heartbeatInterval,
          ackTimeout,
          startTimeout,
          drainTimeout,
          callsTimeout,
          finalHeartbeatTimeout,
          failureStands);
    }
  }
}
