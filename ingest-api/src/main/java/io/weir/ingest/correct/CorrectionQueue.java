// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.ingest.clock.LocalClock;
import io.weir.limits.policy.PolicySet;
import java.util.Collection;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The way of a correction from a record to the cache, without the consumer that reads and without a
 * thread: records are read into a backlog, and what waits there is applied step by step. What the
 * cache has not answered waits on, and its offset is not to be committed. {@link Corrections} gives
 * it a consumer and a thread; the simulation gives it both of its own. Not thread-safe.
 */
public final class CorrectionQueue {
  private final Backlog backlog = new Backlog();
  private final CorrectionStatus status = new CorrectionStatus();
  private final Applier applier;
  private final CorrectionReader reader;

  /**
   * Creates an empty queue.
   *
   * @param corrector applies corrections
   * @param life is told which partitions are restored
   * @param policies returns the policies in force, the same object until they change; for debt caps
   * @param maxPerSecond most corrections given to the cache in a second, at least 1
   * @param statistics counts what is done
   */
  public CorrectionQueue(
      BucketCorrector corrector,
      CacheLife life,
      Supplier<PolicySet> policies,
      int maxPerSecond,
      CorrectionStatistics statistics,
      LocalClock clock) {
    this.applier = new Applier(corrector, life, maxPerSecond, statistics, status, clock);
    this.reader = new CorrectionReader(new LimitsInForce(policies), statistics, clock);
  }

  /**
   * Takes in a record of the corrections topic. One that is malformed is logged, counted and passed
   * over.
   */
  public void read(ConsumerRecord<byte[], byte[]> record) {
    reader.read(record, backlog);
  }

  /**
   * Applies what is at the front, if its time has come: a number of corrections, or the message
   * that a partition is restored. Blocks until the cache has answered; if it does not, the same is
   * tried again after a pause.
   */
  public void applyNext() {
    applier.step(backlog);
  }

  /**
   * Returns how long to wait before {@link #applyNext} does anything, in nanoseconds; 0 or less if
   * it may be called now.
   */
  long waitNanos() {
    return applier.waitNanos();
  }

  /** Returns whether nothing waits. */
  public boolean isEmpty() {
    return backlog.isEmpty();
  }

  /** Returns whether further records may be read: nothing waits but for servers that are away. */
  boolean mayGrow() {
    return backlog.mayGrow();
  }

  /** Returns whether nothing is to be applied now: what waits, waits for servers that are away. */
  boolean isIdle() {
    return backlog.isIdle();
  }

  /** Returns how many corrections and messages wait. */
  int size() {
    return backlog.size();
  }

  /**
   * Returns the offset, exclusive, up to which all records of a partition have been answered.
   *
   * @param readTo the offset after the last record of the partition that was read
   */
  public long answeredTo(int partition, long readTo) {
    return backlog.answeredTo(partition, readTo);
  }

  /**
   * Drops what waits of some partitions, which another node will read.
   *
   * @return how much that was
   */
  int giveUp(Collection<Integer> partitions) {
    return backlog.giveUp(partitions);
  }

  /**
   * Drops all that waits.
   *
   * @return how much that was
   */
  int giveUpAll() {
    return backlog.giveUpAll();
  }

  /** Returns why corrections are not applied at present. */
  CorrectionStatus status() {
    return status;
  }
}
