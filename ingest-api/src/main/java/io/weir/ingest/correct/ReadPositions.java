// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.ingest.clock.LocalClock;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The positions in a consumer's partitions up to which records were read, and up to which the cache
 * has replied. The node commits only the positions of records to which the cache has replied. The
 * partition's next owner reads all other records again. A failed commit does no harm, because a
 * repeated correction changes nothing. Not thread-safe.
 */
final class ReadPositions implements ConsumerRebalanceListener {
  /**
   * Minimum time between two commits. The time bounds the number of records that are read again
   * after a kill of the process.
   */
  private static final long COMMIT_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private static final Duration COMMIT_TIMEOUT = Duration.ofSeconds(2);

  private static final Logger LOG = LoggerFactory.getLogger(ReadPositions.class);

  private final Consumer<byte[], byte[]> consumer;
  private final CorrectionQueue queue;
  private final CorrectionStatistics statistics;
  private final LocalClock clock;
  private final Map<TopicPartition, Long> readTo = new HashMap<>();
  private final Map<TopicPartition, Long> committed = new HashMap<>();
  private long committedNanos;
  private boolean assigned;

  ReadPositions(
      Consumer<byte[], byte[]> consumer,
      CorrectionQueue queue,
      CorrectionStatistics statistics,
      LocalClock clock) {
    this.consumer = consumer;
    this.queue = queue;
    this.statistics = statistics;
    this.clock = clock;
    this.committedNanos = clock.nowNanos();
  }

  /** Updates the read positions of the given partitions. */
  void read(Collection<TopicPartition> partitions) {
    for (TopicPartition partition : partitions) {
      readTo.put(partition, consumer.position(partition));
    }
  }

  /**
   * Commits the position of the records to which the cache has replied, at most once every 500 ms.
   */
  void commitNowAndThen() {
    if (clock.nowNanos() - committedNanos >= COMMIT_INTERVAL_NANOS) {
      commit();
    }
  }

  /**
   * Commits the position of the records to which the cache has replied. If a wake-up interrupts the
   * commit, repeats the commit once.
   */
  void commit() {
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    readTo.forEach(
        (partition, position) -> {
          long answered = queue.answeredTo(partition.partition(), position);
          if (answered != committed.getOrDefault(partition, -1L)) {
            offsets.put(partition, new OffsetAndMetadata(answered));
          }
        });
    if (offsets.isEmpty()) {
      return;
    }
    committedNanos = clock.nowNanos();
    try {
      try {
        consumer.commitSync(offsets, COMMIT_TIMEOUT);
      } catch (WakeupException awake) {
        consumer.commitSync(offsets, COMMIT_TIMEOUT);
      }
      offsets.forEach((partition, offset) -> committed.put(partition, offset.offset()));
    } catch (KafkaException failed) {
      LOG.debug("corrections_commit_failed; the next commit retries it", failed);
    }
  }

  /**
   * Returns whether the group has assigned partitions to this node; the assignment may be empty.
   */
  boolean isAssigned() {
    return assigned;
  }

  @Override
  public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
    assigned = true;
    LOG.info("corrections_assigned partitions={}", partitions);
  }

  @Override
  public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
    commit();
    forget(partitions);
  }

  @Override
  public void onPartitionsLost(Collection<TopicPartition> partitions) {
    forget(partitions);
  }

  private void forget(Collection<TopicPartition> partitions) {
    LOG.info("corrections_revoked partitions={}", partitions);
    readTo.keySet().removeAll(partitions);
    committed.keySet().removeAll(partitions);
    statistics.handedBack.increment(
        queue.giveUp(partitions.stream().map(TopicPartition::partition).toList()));
    statistics.nowWaiting(queue.size());
  }
}
