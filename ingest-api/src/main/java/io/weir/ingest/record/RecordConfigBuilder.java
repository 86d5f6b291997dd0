// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Durability;
import io.weir.topics.catalog.Topics;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/** Builds a {@link RecordConfig}, whose components its methods are named after. */
@SuppressWarnings("CanIgnoreReturnValueSuggester") // its annotation is not on the class path
public final class RecordConfigBuilder {
  private final String node;
  private final String bootstrapServers;
  private final Path journalFolder;
  private Map<String, String> kafkaSettings = Map.of();
  private String topic = Topics.CALLS.name();
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

  RecordConfigBuilder(String node, String bootstrapServers, Path journalFolder) {
    this.node = node;
    this.bootstrapServers = bootstrapServers;
    this.journalFolder = journalFolder;
  }

  public RecordConfigBuilder kafkaSettings(Map<String, String> settings) {
    kafkaSettings = settings;
    return this;
  }

  public RecordConfigBuilder topic(String name) {
    topic = name;
    return this;
  }

  public RecordConfigBuilder durability(Durability asked) {
    durability = asked;
    return this;
  }

  public RecordConfigBuilder fsync(boolean asked) {
    fsync = asked;
    return this;
  }

  public RecordConfigBuilder maxJournalBytes(long bytes) {
    maxJournalBytes = bytes;
    return this;
  }

  public RecordConfigBuilder whenFull(WhenFull asked) {
    whenFull = asked;
    return this;
  }

  public RecordConfigBuilder linger(Duration length) {
    linger = length;
    return this;
  }

  public RecordConfigBuilder maxBatchLines(int lines) {
    maxBatchLines = lines;
    return this;
  }

  public RecordConfigBuilder maxBatchBytes(int bytes) {
    maxBatchBytes = bytes;
    return this;
  }

  public RecordConfigBuilder heartbeatInterval(Duration length) {
    heartbeatInterval = length;
    return this;
  }

  public RecordConfigBuilder ackTimeout(Duration length) {
    ackTimeout = length;
    return this;
  }

  public RecordConfigBuilder startTimeout(Duration length) {
    startTimeout = length;
    return this;
  }

  public RecordConfigBuilder drainTimeout(Duration length) {
    drainTimeout = length;
    return this;
  }

  public RecordConfig build() {
    return new RecordConfig(
        node,
        bootstrapServers,
        kafkaSettings,
        topic,
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
        drainTimeout);
  }
}
