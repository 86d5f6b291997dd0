// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.record.journal.BatchManifest;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.Journal;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The unacknowledged lines and batches of one partition. Lines pass through three stages: pending,
 * sealed in a batch, and in flight. The batches in flight are the oldest sealed batches.
 *
 * <p>When a batch fails, the buffer sends no further batch until it has the results of all batches
 * in flight. Then the buffer sends only the failed batch until Kafka acknowledges it. After that,
 * the buffer sends the later batches again, although Kafka may already have stored them. The
 * aggregator knows the order of lines only within an epoch. So batches of two epochs are never in
 * flight together, and no batch is in flight behind a final heartbeat.
 *
 * <p>A lock guards the pending lines, which the writer of the group commit appends and the
 * recording thread seals. The number of appended lines is confined to the writer, and all other
 * state to the recording thread.
 */
final class PartitionBuffer {
  /**
   * Maximum number of batches in flight. An idempotent Kafka producer keeps the order of at most
   * five batches in flight.
   */
  static final int MAX_IN_FLIGHT = 5;

  private final int partition;
  private final long epoch;
  private final long linesBeforeEpoch;

  private final ReentrantLock lock = new ReentrantLock();
  private final Deque<Chunk> pending = new ArrayDeque<>();
  private final Deque<Waiter> waiters = new ArrayDeque<>();
  private int pendingLines;
  private long pendingBytes;
  private long pendingSinceNanos;

  private long appendedLines;

  private final Deque<SealedBatch> sealed = new ArrayDeque<>();
  private long sealedBatches;
  private long sealedLines;
  private long lowWatermarkEpochMillis;

  private int inFlight;
  private boolean isRetryDue;
  private int failuresInARow;
  private long notBeforeNanos;

  private boolean isHeartbeatInFlight;

  /** Whether a heartbeat was sent after Kafka's last acknowledgement of a batch or heartbeat. */
  private boolean isHeartbeatAwaited;

  private long heartbeatSinceNanos;

  /**
   * Batch number of the final heartbeat whose announcement Kafka has acknowledged; 0 if there is
   * none.
   */
  private long announcedBefore;

  /** Batch number of the final heartbeat whose announcement is in flight; 0 if there is none. */
  private long announcingBefore;

  /**
   * Creates a buffer with the journal's recovered content.
   *
   * @param epoch the current epoch of the journal
   */
  PartitionBuffer(int partition, long epoch, Journal.Recovered recovered, long nowNanos) {
    this.partition = partition;
    this.epoch = epoch;
    this.linesBeforeEpoch = recovered.linesBeforeEpoch();
    sealedBatches = recovered.ackedBatches();
    sealedLines = recovered.ackedLines();
    lowWatermarkEpochMillis = recovered.ackedLowWatermarkEpochMillis();
    for (BatchManifest manifest : recovered.sealed()) {
      addSealed(new SealedBatch(manifest, null, nowNanos));
    }
    appendedLines = sealedLines;
    append(recovered.unsealed(), List.of(), nowNanos);
    notBeforeNanos = nowNanos;
  }

  /** An append that waits until Kafka has acknowledged a line. */
  record Waiter(long line, Append append) {}

  int partition() {
    return partition;
  }

  /** Returns the current epoch of the journal, to which appended lines belong. */
  long epoch() {
    return epoch;
  }

  /** Returns the number of lines of the partition that were appended in earlier epochs. */
  long linesBeforeEpoch() {
    return linesBeforeEpoch;
  }

  // -- confined to the writer of the group commit

  /** Returns the number of the last appended line. */
  long appendedLines() {
    return appendedLines;
  }

  /** Appends lines that the journal has stored. */
  void append(List<Chunk> chunks, List<Waiter> added, long nowNanos) {
    lock.lock();
    try {
      if (pending.isEmpty()) {
        pendingSinceNanos = nowNanos;
      }
      for (Chunk chunk : chunks) {
        if (chunk.firstLine() != appendedLines + 1) {
          throw new IllegalStateException(
              "the next chunk must begin at line " + (appendedLines + 1) + ", but is " + chunk);
        }
        pending.add(chunk);
        pendingLines += chunk.count();
        pendingBytes += chunk.lines().length;
        appendedLines = chunk.lastLine();
      }
      waiters.addAll(added);
    } finally {
      lock.unlock();
    }
  }

  // -- thread-safe

  /** Returns whether the pending lines fill a batch. */
  boolean isFull(BatchSealer.Limits limits) {
    lock.lock();
    try {
      return limits.isFull(pendingLines, pendingBytes);
    } finally {
      lock.unlock();
    }
  }

  boolean hasPending() {
    lock.lock();
    try {
      return !pending.isEmpty();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the age of the oldest pending line in nanoseconds; 0 if there is none. */
  long oldestPendingNanos(long nowNanos) {
    lock.lock();
    try {
      return pending.isEmpty() ? 0 : nowNanos - pendingSinceNanos;
    } finally {
      lock.unlock();
    }
  }

  // -- confined to the recording thread: pending lines become sealed batches

  /** Returns the time at which the oldest pending line was appended; undefined if there is none. */
  long pendingSinceNanos() {
    lock.lock();
    try {
      return pendingSinceNanos;
    } finally {
      lock.unlock();
    }
  }

  /** Returns a copy of the pending lines, in order. */
  List<Chunk> pending() {
    lock.lock();
    try {
      return new ArrayList<>(pending);
    } finally {
      lock.unlock();
    }
  }

  /** Moves the oldest pending lines, which form the batch, to the sealed batches. */
  void seal(SealedBatch batch, long nowNanos) {
    BatchManifest manifest = batch.manifest();
    lock.lock();
    try {
      for (int lines = 0; lines < manifest.count(); ) {
        lines += pending.removeFirst().count();
      }
      pendingLines -= manifest.count();
      pendingBytes -= manifest.bytes();
      pendingSinceNanos = nowNanos;
    } finally {
      lock.unlock();
    }
    addSealed(batch);
  }

  private void addSealed(SealedBatch batch) {
    BatchManifest manifest = batch.manifest();
    if (manifest.batchSequence() != sealedBatches + 1 || manifest.linesBefore() != sealedLines) {
      throw new IllegalStateException(
          "the next batch must have number "
              + (sealedBatches + 1)
              + " and begin after line "
              + sealedLines
              + ", but is "
              + manifest);
    }
    sealed.add(batch);
    sealedBatches = manifest.batchSequence();
    sealedLines = manifest.linesThrough();
    lowWatermarkEpochMillis = manifest.lowWatermarkEpochMillis();
  }

  /** Returns the number of the last sealed batch. */
  long sealedBatches() {
    return sealedBatches;
  }

  /** Returns the number of lines in sealed batches. */
  long sealedLines() {
    return sealedLines;
  }

  /** Returns the low watermark of the last sealed batch or heartbeat. */
  long lowWatermarkEpochMillis() {
    return lowWatermarkEpochMillis;
  }

  /** Returns whether there is a sealed batch that Kafka has not acknowledged. */
  boolean hasSealed() {
    return !sealed.isEmpty();
  }

  /** Returns whether Kafka has acknowledged every appended line. */
  boolean isDrained() {
    return sealed.isEmpty() && !hasPending();
  }

  // -- confined to the recording thread: batches in flight

  /** Returns the sealed batch to send next; null if there is none or the next one must wait. */
  @Nullable SealedBatch nextToSend() {
    int most = failuresInARow > 0 ? 1 : MAX_IN_FLIGHT;
    if (isRetryDue || inFlight >= most || inFlight == sealed.size()) {
      return null;
    }
    Iterator<SealedBatch> batches = sealed.iterator();
    SealedBatch next = batches.next();
    for (int i = 0; i < inFlight; i++) {
      BatchManifest previous = next.manifest();
      next = batches.next();
      if (next.manifest().isFinalHeartbeat() || next.manifest().epoch() != previous.epoch()) {
        return null;
      }
    }
    return next;
  }

  /** Records that the {@linkplain #nextToSend next} batch is in flight. */
  void batchSent() {
    inFlight++;
  }

  /** Returns the number of batches in flight. */
  int inFlight() {
    return inFlight;
  }

  /** Records that a batch in flight failed. Kafka may lack the batch. */
  void batchFailed() {
    // batches that were in flight together count as one failure
    failuresInARow += isRetryDue ? 0 : 1;
    retryFromOldest();
  }

  /**
   * Records that Kafka has acknowledged a batch in flight, and notifies the callers of its lines.
   *
   * @return whether Kafka has also acknowledged all earlier batches; if not, the batch is sent
   *     again
   */
  boolean batchAcked(SealedBatch batch) {
    BatchManifest manifest = batch.manifest();
    SealedBatch oldest = sealed.peekFirst();
    if (oldest == null || oldest.manifest().batchSequence() != manifest.batchSequence()) {
      retryFromOldest();
      return false;
    }
    failuresInARow = 0;
    isHeartbeatAwaited = false;
    batchAnswered();
    sealed.removeFirst();
    List<Waiter> served = new ArrayList<>();
    lock.lock();
    try {
      for (Waiter first = waiters.peekFirst();
          first != null && first.line() <= manifest.linesThrough();
          first = waiters.peekFirst()) {
        served.add(waiters.removeFirst());
      }
    } finally {
      lock.unlock();
    }
    for (Waiter waiter : served) {
      waiter.append().lineAcked();
    }
    return true;
  }

  private void retryFromOldest() {
    isRetryDue = true;
    batchAnswered();
  }

  private void batchAnswered() {
    inFlight--;
    if (inFlight == 0) {
      isRetryDue = false;
    }
  }

  /** Abandons all batches and heartbeats in flight, because their results will not arrive. */
  void abandonInFlight() {
    isHeartbeatInFlight = false;
    announcingBefore = 0;
    inFlight = 0;
    isRetryDue = false;
  }

  /**
   * Counts a fatal failure of the producer, or a failure to read a batch from the journal. Until
   * the next acknowledgement, the buffer sends one batch at a time.
   */
  void attemptFailed() {
    failuresInARow++;
  }

  /**
   * Returns the number of failed attempts since Kafka last acknowledged a heartbeat or the oldest
   * batch.
   */
  int failuresInARow() {
    return failuresInARow;
  }

  /** Returns the earliest time at which the partition may send again after a failed attempt. */
  long notBeforeNanos() {
    return notBeforeNanos;
  }

  void notBefore(long nanos) {
    notBeforeNanos = nanos;
  }

  // -- confined to the recording thread: heartbeats

  boolean isHeartbeatInFlight() {
    return isHeartbeatInFlight;
  }

  /** Records that a heartbeat with the given low watermark is in flight. */
  void heartbeatSent(long carriedEpochMillis, long nowNanos) {
    lowWatermarkEpochMillis = carriedEpochMillis;
    awaitHeartbeat(nowNanos);
  }

  /**
   * Records that the announcement of the current epoch is in flight. The announcement precedes the
   * given final heartbeat of the old epoch.
   */
  void announcementSent(BatchManifest finalHeartbeat, long nowNanos) {
    announcingBefore = finalHeartbeat.batchSequence();
    awaitHeartbeat(nowNanos);
  }

  private void awaitHeartbeat(long nowNanos) {
    isHeartbeatInFlight = true;
    if (!isHeartbeatAwaited) {
      isHeartbeatAwaited = true;
      heartbeatSinceNanos = nowNanos;
    }
  }

  /**
   * Returns whether Kafka has acknowledged the announcement that must precede the given final
   * heartbeat.
   */
  boolean isAnnounced(BatchManifest finalHeartbeat) {
    return announcedBefore == finalHeartbeat.batchSequence();
  }

  /** Records that Kafka has acknowledged the heartbeat or announcement in flight. */
  void heartbeatAcked() {
    isHeartbeatInFlight = false;
    isHeartbeatAwaited = false;
    failuresInARow = 0;
    if (announcingBefore != 0) {
      announcedBefore = announcingBefore;
    }
    announcingBefore = 0;
  }

  /** Records that the heartbeat or announcement in flight failed. */
  void heartbeatFailed() {
    failuresInARow++;
    isHeartbeatInFlight = false;
    announcingBefore = 0;
  }

  /**
   * Returns the age of the oldest unacknowledged line in nanoseconds. Without such a line, returns
   * the age of the oldest unacknowledged heartbeat, or 0 if there is none.
   */
  long oldestUnackedNanos(long nowNanos) {
    SealedBatch oldest = sealed.peekFirst();
    if (oldest != null) {
      return nowNanos - oldest.sinceNanos();
    }
    long pendingNanos = oldestPendingNanos(nowNanos);
    if (pendingNanos > 0) {
      return pendingNanos;
    }
    return isHeartbeatAwaited ? nowNanos - heartbeatSinceNanos : 0;
  }
}
