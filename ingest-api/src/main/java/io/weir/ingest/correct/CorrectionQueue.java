// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.ingest.clock.LocalClock;
import io.weir.limits.correction.Correction;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.process.LogPace;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CorrectionCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads records of the corrections topic into a backlog, and applies the backlog's items to the
 * cache step by step. An item stays in the backlog until the cache has replied; only then may the
 * caller commit the item's offset. The queue has no consumer and no thread. {@link Corrections} and
 * the simulation each provide a consumer and a thread. Not thread-safe.
 */
public final class CorrectionQueue {
  /**
   * Minimum time between two log lines about malformed records. Metrics count every malformed
   * record.
   */
  private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final Logger LOG = LoggerFactory.getLogger(CorrectionQueue.class);

  private static final Set<String> KINDS =
      Set.of(CorrectionCodec.TYPE, CorrectionCodec.RESTORED_TYPE);

  private final CorrectionBacklog backlog = new CorrectionBacklog();
  private final CorrectionStatus status = new CorrectionStatus();
  private final Applier applier;
  private final LimitsInForce limits;
  private final CorrectionStatistics statistics;
  private final LocalClock clock;
  private final LogPace logPace;

  /**
   * Creates an empty queue.
   *
   * @param corrector applies corrections
   * @param life receives the "restored" markers of partitions
   * @param policies returns the policies in force, which define the debt caps; must return the same
   *     object until the policies change
   * @param maxPerSecond maximum number of corrections sent to the cache per second, at least 1
   * @param statistics counts the results
   */
  public CorrectionQueue(
      BucketCorrector corrector,
      CacheLife life,
      Supplier<PolicySet> policies,
      int maxPerSecond,
      CorrectionStatistics statistics,
      LocalClock clock) {
    this.applier = new Applier(corrector, life, maxPerSecond, statistics, status, clock);
    this.limits = new LimitsInForce(policies);
    this.statistics = statistics;
    this.clock = clock;
    this.logPace = new LogPace(clock.nanos(), LOG_NANOS);
  }

  /**
   * Reads a record of the corrections topic into the backlog. A malformed record is logged, counted
   * and skipped; tombstones and records of unknown kinds are ignored.
   */
  public void read(ConsumerRecord<byte[], byte[]> record) {
    String type = HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER);
    if (record.value() == null || (type != null && !KINDS.contains(type))) {
      return;
    }
    statistics.read.increment();
    try {
      if (type == null) {
        throw new MalformedRecordException(
            "header " + BatchHeaderCodec.TYPE_HEADER + " is missing");
      }
      switch (type) {
        case CorrectionCodec.TYPE -> {
          if (backlog.add(correction(record))) {
            statistics.superseded.increment();
          }
        }
        case CorrectionCodec.RESTORED_TYPE ->
            backlog.add(
                new CorrectionBacklog.RestoredMessage(
                    record.partition(),
                    record.offset(),
                    CorrectionCodec.decodeRestored(record.value())));
        default -> throw new IllegalStateException("no reader for this kind: " + type);
      }
    } catch (MalformedRecordException malformed) {
      statistics.malformed.increment();
      log(record, malformed);
    }
  }

  private CorrectionBacklog.WaitingCorrection correction(ConsumerRecord<byte[], byte[]> record)
      throws MalformedRecordException {
    Correction correction = CorrectionCodec.decode(record.value());
    try {
      return new CorrectionBacklog.WaitingCorrection(
          record.partition(), record.offset(), limits.bound(correction, clock.nowEpochMillis()));
    } catch (IllegalArgumentException notOurs) {
      throw new MalformedRecordException("correction: " + notOurs.getMessage(), notOurs);
    }
  }

  private void log(ConsumerRecord<byte[], byte[]> record, MalformedRecordException malformed) {
    if (logPace.isDue()) {
      LOG.warn(
          "correction_malformed record={}-{}-{} detail=\"{}\"; Weir skips the record, and logs "
              + "at most one malformed record in 10 s",
          record.topic(),
          record.partition(),
          record.offset(),
          malformed.getMessage());
    }
  }

  /**
   * Applies the first items if they are due: a batch of corrections, or the "restored" marker of a
   * partition. Blocks until the cache has replied or the request has failed. After a failure, the
   * items are due again after a pause.
   */
  public void applyNext() {
    applier.step(backlog);
  }

  /**
   * Returns how long to wait before {@link #applyNext} has an effect, in nanoseconds; 0 or less if
   * {@link #applyNext} has an effect now.
   */
  long waitNanos() {
    return applier.waitNanos();
  }

  /** Returns whether the queue has no items. */
  public boolean isEmpty() {
    return backlog.isEmpty();
  }

  /**
   * Returns whether further records may be read. Reading is permitted while all items wait for
   * unavailable servers and their number is below the maximum.
   */
  boolean mayGrow() {
    return backlog.mayGrow();
  }

  /**
   * Returns whether no item can be applied now, because all items wait for unavailable servers.
   * Returns true for an empty queue.
   */
  boolean isIdle() {
    return backlog.isIdle();
  }

  /** Returns the number of waiting corrections and "restored" markers. */
  int size() {
    return backlog.size();
  }

  /**
   * Returns the offset, exclusive, up to which the cache has replied to all records of a partition.
   *
   * @param readTo the offset after the last record of the partition that was read
   */
  public long answeredTo(int partition, long readTo) {
    return backlog.answeredTo(partition, readTo);
  }

  /**
   * Drops the waiting items of the given partitions, which another node will read again.
   *
   * @return number of dropped items
   */
  int giveUp(Collection<Integer> partitions) {
    return backlog.giveUp(partitions);
  }

  /**
   * Drops all waiting items.
   *
   * @return number of dropped items
   */
  int giveUpAll() {
    return backlog.giveUpAll();
  }

  /** Returns whether corrections are currently applied, and the problem if they are not. */
  CorrectionStatus status() {
    return status;
  }
}
