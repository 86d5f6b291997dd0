// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Recorded;
import io.weir.ingest.record.journal.BatchManifest;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * What the record path has done since it was opened, and what it holds. Safe for threads.
 *
 * <p>Equations: <b>calls handed over = appended + refused + dropped</b>, where a call that timed
 * out was appended before it was refused and stands in both; <b>found at the start + appended =
 * acked + held</b>.
 */
public final class RecordStatistics {
  private final LongAdder appendedLines = new LongAdder();
  private final LongAdder groupCommits = new LongAdder();
  private final LongAdder sealedBatches = new LongAdder();
  private final LongAdder ackedBatches = new LongAdder();
  private final LongAdder ackedLines = new LongAdder();
  private final LongAdder retriedBatches = new LongAdder();
  private final LongAdder heartbeats = new LongAdder();
  private final LongAdder droppedCalls = new LongAdder();
  private final Map<Recorded.Reason, LongAdder> refusedCalls = new EnumMap<>(Recorded.Reason.class);
  private final LongAdder faults = new LongAdder();
  private final AtomicLong heldLines = new AtomicLong();
  private final AtomicLong heldBytes = new AtomicLong();
  private final AtomicLongArray promises;
  private final AtomicLong foundLines = new AtomicLong();
  private volatile long oldestUnackedMillis;
  private volatile SealListener sealListener = (calls, bytes) -> {};

  /** Exceptions that nothing expected; the parts concerned began anew. */
  public long faults() {
    return faults.sum();
  }

  void fault() {
    faults.increment();
  }

  /** Told of each batch. */
  public interface SealListener {
    /** A batch of calls was sealed; called on the thread that seals, which it must not hold. */
    void sealed(long calls, long bytes);
  }

  RecordStatistics(int partitions) {
    promises = new AtomicLongArray(partitions);
    for (Recorded.Reason reason : Recorded.Reason.values()) {
      refusedCalls.put(reason, new LongAdder());
    }
  }

  /** Calls written to the journal. */
  public long appendedLines() {
    return appendedLines.sum();
  }

  /** Writes that brought them there; fewer than calls when callers share a write. */
  public long groupCommits() {
    return groupCommits.sum();
  }

  /** Batches sealed. */
  public long sealedBatches() {
    return sealedBatches.sum();
  }

  /** Batches that Kafka confirmed. */
  public long ackedBatches() {
    return ackedBatches.sum();
  }

  /** Calls in them. */
  public long ackedLines() {
    return ackedLines.sum();
  }

  /** Batches that had to be handed to the Kafka client again. */
  public long retriedBatches() {
    return retriedBatches.sum();
  }

  /** Heartbeats that Kafka confirmed. */
  public long heartbeats() {
    return heartbeats.sum();
  }

  /** Calls refused for a reason. */
  public long refusedCalls(Recorded.Reason reason) {
    LongAdder refused = refusedCalls.get(reason);
    return refused == null ? 0 : refused.sum();
  }

  /** Calls answered, but not kept, since there was no room. */
  public long droppedCalls() {
    return droppedCalls.sum();
  }

  /** Calls that earlier processes left in the journal. */
  public long foundLines() {
    return foundLines.get();
  }

  /** Calls that Kafka does not have yet. */
  public long heldLines() {
    return heldLines.get();
  }

  /** Bytes of those calls: what the journal's bound is compared with. */
  public long journalBytes() {
    return heldBytes.get();
  }

  /**
   * For how long the oldest of those calls has waited in this process, or a heartbeat of a
   * partition that has none, in ms; 0 when Kafka has everything.
   */
  public long oldestUnackedMillis() {
    return oldestUnackedMillis;
  }

  /** Partitions of the calls topic. */
  public int partitions() {
    return promises.length();
  }

  /** Newest promise made for a partition, epoch ms; 0 before the first. */
  public long promiseEpochMillis(int partition) {
    return promises.get(partition);
  }

  /** Tells of each batch that is sealed from now on. */
  public void onSeal(SealListener listener) {
    sealListener = listener;
  }

  void found(long lines, long bytes) {
    foundLines.addAndGet(lines);
    heldLines.addAndGet(lines);
    heldBytes.addAndGet(bytes);
  }

  void appended(long lines, long bytes) {
    appendedLines.add(lines);
    groupCommits.increment();
    heldLines.addAndGet(lines);
    heldBytes.addAndGet(bytes);
  }

  void refused(Recorded.Reason reason, int calls) {
    LongAdder refused = refusedCalls.get(reason);
    if (refused != null) {
      refused.add(calls);
    }
  }

  void dropped(int calls) {
    droppedCalls.add(calls);
  }

  void sealed(BatchManifest seal) {
    sealedBatches.increment();
    sealListener.sealed(seal.count(), seal.bytes());
    promised(seal.partition(), seal.lowWatermarkEpochMillis());
  }

  void promised(int partition, long promiseEpochMillis) {
    promises.set(partition, promiseEpochMillis);
  }

  void acked(BatchManifest seal) {
    ackedBatches.increment();
    ackedLines.add(seal.count());
    heldLines.addAndGet(-seal.count());
    heldBytes.addAndGet(-seal.bytes());
  }

  void heartbeat() {
    heartbeats.increment();
  }

  void retried() {
    retriedBatches.increment();
  }

  void oldestUnacked(long millis) {
    oldestUnackedMillis = millis;
  }
}
