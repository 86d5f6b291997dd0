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
 * What is held for one partition, on its way through three stages: lines that are pending, batches
 * that are sealed, and the oldest of these, which are with the Kafka client. When one of them
 * fails, no more are handed over until the others are answered; then the one that failed is alone
 * until Kafka has it, and those behind it, which may be in Kafka without it, follow. Batches of two
 * openings of the journal are never with the client together, nor anything behind a goodbye: the
 * count knows an order within an opening only.
 *
 * <p>The pending lines are shared between the callers, who add, and the record loop, which takes;
 * the count of lines belongs to whoever holds the turn to commit; all else belongs to the loop.
 */
final class Lane {
  /** Most batches with the client at once: as many as it sends over a connection in order. */
  static final int MAX_UNDER_WAY = 5;

  private final int partition;

  private final ReentrantLock lock = new ReentrantLock();
  private final Deque<Chunk> pending = new ArrayDeque<>();
  private final Deque<Waiter> waiters = new ArrayDeque<>();
  private int pendingLines;
  private long pendingBytes;
  private long pendingSinceNanos;

  private long appendedLines;

  private final long epoch;
  private final long linesBeforeEpoch;
  private final Deque<SealedBatch> sealed = new ArrayDeque<>();
  private long sealedBatches;
  private long sealedLines;
  private long promiseEpochMillis;
  private int underWay;
  private boolean oneFailed;
  private int failuresInARow;
  private boolean heartbeatUnderWay;

  /** When the first of the heartbeats was sent that Kafka has not confirmed. */
  private long heartbeatSinceNanos;

  private boolean isHeartbeatAwaited;

  /** The goodbye before which Kafka has the new epoch's hello; 0 when there is none. */
  private long greetedBefore;

  /** The goodbye before which a hello is under way; 0 when none is. */
  private long greetingBefore;

  private long notBeforeNanos;

  /**
   * Takes up what the journal holds for the partition.
   *
   * @param epoch the opening of the journal
   */
  Lane(int partition, long epoch, Journal.Recovered found, long nowNanos) {
    this.partition = partition;
    this.epoch = epoch;
    this.linesBeforeEpoch = found.linesBeforeEpoch();
    sealedBatches = found.ackedBatches();
    sealedLines = found.ackedLines();
    promiseEpochMillis = found.ackedLowWatermarkEpochMillis();
    for (BatchManifest seal : found.sealed()) {
      sealed(new SealedBatch(seal, null, nowNanos));
    }
    appendedLines = sealedLines;
    add(found.unsealed(), List.of(), nowNanos);
    notBeforeNanos = nowNanos;
  }

  /**
   * A caller that is answered when Kafka has its lines.
   *
   * @param lastLine the last of them in this partition
   */
  record Waiter(long lastLine, Append append) {}

  int partition() {
    return partition;
  }

  /** The opening of the journal in which lines are added. */
  long epoch() {
    return epoch;
  }

  /** Lines of the partition that were added in earlier ones. */
  long linesBeforeEpoch() {
    return linesBeforeEpoch;
  }

  // -- of whoever holds the turn to commit

  long appendedLines() {
    return appendedLines;
  }

  /** Adds lines that the journal has. */
  void add(List<Chunk> chunks, List<Waiter> added, long nowNanos) {
    lock.lock();
    try {
      if (pending.isEmpty()) {
        pendingSinceNanos = nowNanos;
      }
      for (Chunk chunk : chunks) {
        if (chunk.firstLine() != appendedLines + 1) {
          throw new IllegalStateException(
              "line " + (appendedLines + 1) + " should follow, not " + chunk);
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

  // -- of any thread

  boolean isFull(BatchCutter cutter) {
    lock.lock();
    try {
      return cutter.isFull(pendingLines, pendingBytes);
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

  // -- of the record loop

  /** When the pending lines began to wait; meaningless when there are none. */
  long pendingSinceNanos() {
    lock.lock();
    try {
      return pendingSinceNanos;
    } finally {
      lock.unlock();
    }
  }

  List<Chunk> pending() {
    lock.lock();
    try {
      return new ArrayList<>(pending);
    } finally {
      lock.unlock();
    }
  }

  /** Moves lines on: they are pending no longer, but sealed. */
  void seal(SealedBatch batch, int chunks, long nowNanos) {
    lock.lock();
    try {
      for (int i = 0; i < chunks; i++) {
        pending.removeFirst();
      }
      pendingLines -= batch.seal().count();
      pendingBytes -= batch.seal().bytes();
      pendingSinceNanos = nowNanos;
    } finally {
      lock.unlock();
    }
    sealed(batch);
  }

  private void sealed(SealedBatch batch) {
    BatchManifest seal = batch.seal();
    if (seal.batchSequence() != sealedBatches + 1 || seal.linesBefore() != sealedLines) {
      throw new IllegalStateException(
          "batch " + (sealedBatches + 1) + " should follow line " + sealedLines + ", not " + seal);
    }
    sealed.add(batch);
    sealedBatches = seal.batchSequence();
    sealedLines = seal.linesThrough();
    promiseEpochMillis = seal.lowWatermarkEpochMillis();
  }

  /** Whether Kafka may lack a batch that is sealed. */
  boolean hasSealed() {
    return !sealed.isEmpty();
  }

  /** The sealed batch to be handed over next; null when there is none, or none may be now. */
  @Nullable SealedBatch next() {
    int most = failuresInARow > 0 ? 1 : MAX_UNDER_WAY;
    if (oneFailed || underWay >= most || underWay == sealed.size()) {
      return null;
    }
    Iterator<SealedBatch> batches = sealed.iterator();
    SealedBatch next = batches.next();
    for (int i = 0; i < underWay; i++) {
      SealedBatch before = next;
      next = batches.next();
      if (next.seal().count() == 0 || next.seal().epoch() != before.seal().epoch()) {
        return null;
      }
    }
    return next;
  }

  /** The {@linkplain #next next} batch is with the client. */
  void handedOver() {
    underWay++;
  }

  int underWay() {
    return underWay;
  }

  /** What is with the client is given up, a heartbeat too: it will not be answered. */
  void startOver() {
    heartbeatUnderWay = false;
    greetingBefore = 0;
    underWay = 0;
    oneFailed = false;
  }

  /** Kafka may lack a batch that was handed over. */
  void failed() {
    failuresInARow += oneFailed ? 0 : 1; // those handed over together fail together
    handOverAgain();
  }

  /** What was handed over has broken the outlet: until Kafka has it, it is handed over alone. */
  void brokeTheOutlet() {
    failuresInARow++;
  }

  /** The next batch could not be read from the journal. */
  void nextIsUnreadable() {
    failuresInARow++;
  }

  /** How many attempts have failed since Kafka last had all that it was handed. */
  int failuresInARow() {
    return failuresInARow;
  }

  private void handOverAgain() {
    oneFailed = true;
    answered();
  }

  private void answered() {
    underWay--;
    if (underWay == 0) {
      oneFailed = false;
    }
  }

  /**
   * Kafka has a batch that was handed over.
   *
   * @return whether it has all before it, too; else the batch is handed over again
   */
  boolean acked(SealedBatch batch) {
    SealedBatch oldest = sealed.peekFirst();
    if (oldest == null || oldest.seal().batchSequence() != batch.seal().batchSequence()) {
      handOverAgain();
      return false;
    }
    failuresInARow = 0;
    isHeartbeatAwaited = false;
    answered();
    sealed.removeFirst();
    List<Waiter> served = new ArrayList<>();
    lock.lock();
    try {
      for (Waiter first = waiters.peekFirst();
          first != null && first.lastLine() <= batch.seal().linesThrough();
          first = waiters.peekFirst()) {
        served.add(waiters.removeFirst());
      }
    } finally {
      lock.unlock();
    }
    for (Waiter waiter : served) {
      waiter.append().ackedInOneLane();
    }
    return true;
  }

  long sealedBatches() {
    return sealedBatches;
  }

  long sealedLines() {
    return sealedLines;
  }

  long promiseEpochMillis() {
    return promiseEpochMillis;
  }

  void promise(long epochMillis) {
    promiseEpochMillis = epochMillis;
  }

  /** True when Kafka has every line that was appended. */
  boolean isDrained() {
    return sealed.isEmpty() && !hasPending();
  }

  boolean isHeartbeatUnderWay() {
    return heartbeatUnderWay;
  }

  /** A heartbeat is on its way. */
  void beating(long nowNanos) {
    heartbeatUnderWay = true;
    if (!isHeartbeatAwaited) {
      isHeartbeatAwaited = true;
      heartbeatSinceNanos = nowNanos;
    }
  }

  /** Whether Kafka has the hello of the new epoch that stands before a goodbye. */
  boolean isGreeted(BatchManifest goodbye) {
    return greetedBefore == goodbye.batchSequence();
  }

  /** The hello before a goodbye is on its way. */
  void greeting(BatchManifest goodbye, long nowNanos) {
    greetingBefore = goodbye.batchSequence();
    beating(nowNanos);
  }

  /** Kafka has the heartbeat, or the hello, that was on its way. */
  void heartbeatAcked() {
    heartbeatUnderWay = false;
    isHeartbeatAwaited = false;
    failuresInARow = 0;
    if (greetingBefore != 0) {
      greetedBefore = greetingBefore;
    }
    greetingBefore = 0;
  }

  /** Kafka may lack the heartbeat, or the hello, that was on its way. */
  void heartbeatFailed() {
    failuresInARow++;
    heartbeatUnderWay = false;
    greetingBefore = 0;
  }

  /** Before this time nothing is to be sent, since the last attempt failed. */
  long notBeforeNanos() {
    return notBeforeNanos;
  }

  void notBefore(long nanos) {
    notBeforeNanos = nanos;
  }

  /** For how long the oldest line has waited, or, without any, Kafka has confirmed no heartbeat. */
  long oldestUnackedNanos(long nowNanos) {
    SealedBatch oldest = sealed.peekFirst();
    if (oldest != null) {
      return nowNanos - oldest.sinceNanos();
    }
    if (hasPending()) {
      return nowNanos - pendingSinceNanos();
    }
    return isHeartbeatAwaited ? nowNanos - heartbeatSinceNanos : 0;
  }
}
