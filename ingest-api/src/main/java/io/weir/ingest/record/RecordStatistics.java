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
 * The counters and gauges of a call log since it was opened. Thread-safe.
 *
 * <p>Equations: <b>calls given to the log = appended + refused + dropped</b>, where a call that
 * timed out was appended before it was refused and counts as both; <b>found at the start + appended
 * = acked + held</b>.
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
  private final AtomicLongArray lowWatermarks;
  private final AtomicLong foundLines = new AtomicLong();
  private volatile long oldestUnackedMillis;
  private volatile SealListener sealListener = (calls, bytes) -> {};

  /** Receives the size of each sealed batch. */
  public interface SealListener {
    /** Receives a batch's size; called on the recording thread, which it must not block. */
    void sealed(long calls, long bytes);
  }

  RecordStatistics(int partitions) {
    lowWatermarks = new AtomicLongArray(partitions);
    for (Recorded.Reason reason : Recorded.Reason.values()) {
      refusedCalls.put(reason, new LongAdder());
    }
  }

  /** Returns the number of calls appended to the journal. */
  public long appendedLines() {
    return appendedLines.sum();
  }

  /** Returns the number of writes that appended them; smaller when callers share a write. */
  public long groupCommits() {
    return groupCommits.sum();
  }

  /** Returns the number of sealed batches. */
  public long sealedBatches() {
    return sealedBatches.sum();
  }

  /** Returns the number of batches that Kafka acknowledged. */
  public long ackedBatches() {
    return ackedBatches.sum();
  }

  /** Returns the number of calls that Kafka acknowledged. */
  public long ackedLines() {
    return ackedLines.sum();
  }

  /** Returns how often a batch had to be sent again. */
  public long retriedBatches() {
    return retriedBatches.sum();
  }

  /** Returns the number of heartbeats that Kafka acknowledged. */
  public long heartbeats() {
    return heartbeats.sum();
  }

  /** Returns the number of calls that were refused for a reason. */
  public long refusedCalls(Recorded.Reason reason) {
    LongAdder refused = refusedCalls.get(reason);
    return refused == null ? 0 : refused.sum();
  }

  /** Returns the number of calls that were answered but not recorded, since there was no room. */
  public long droppedCalls() {
    return droppedCalls.sum();
  }

  /** Returns the number of unexpected exceptions, after which the failed parts started anew. */
  public long faults() {
    return faults.sum();
  }

  /** Returns the number of calls that earlier processes left in the journal. */
  public long foundLines() {
    return foundLines.get();
  }

  /** Returns the number of calls that Kafka has not acknowledged. */
  public long heldLines() {
    return heldLines.get();
  }

  /** Returns the bytes of those calls, which the journal's bound limits. */
  public long journalBytes() {
    return heldBytes.get();
  }

  /**
   * Returns how long the oldest of those calls, or the heartbeat of a partition without calls, has
   * waited in this process, in milliseconds; 0 when Kafka has acknowledged everything.
   */
  public long oldestUnackedMillis() {
    return oldestUnackedMillis;
  }

  /** Returns the number of partitions of the calls topic. */
  public int partitions() {
    return lowWatermarks.length();
  }

  /**
   * Returns the newest low watermark of a partition, in milliseconds since the epoch; 0 before the
   * first.
   */
  public long lowWatermarkEpochMillis(int partition) {
    return lowWatermarks.get(partition);
  }

  /** Sets the listener for all batches that are sealed from now on. */
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

  void sealed(BatchManifest manifest) {
    sealedBatches.increment();
    sealListener.sealed(manifest.count(), manifest.bytes());
    lowWatermark(manifest.partition(), manifest.lowWatermarkEpochMillis());
  }

  void lowWatermark(int partition, long epochMillis) {
    lowWatermarks.set(partition, epochMillis);
  }

  void acked(BatchManifest manifest) {
    ackedBatches.increment();
    ackedLines.add(manifest.count());
    heldLines.addAndGet(-manifest.count());
    heldBytes.addAndGet(-manifest.bytes());
  }

  void heartbeat() {
    heartbeats.increment();
  }

  void fault() {
    faults.increment();
  }

  void retried(int batches) {
    retriedBatches.add(batches);
  }

  void oldestUnacked(long millis) {
    oldestUnackedMillis = millis;
  }
}
