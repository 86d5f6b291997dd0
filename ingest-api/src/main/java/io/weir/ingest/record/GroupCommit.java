// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded.Reason;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.CallEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Appends the calls of all callers to the journal, one line for each call. Lines that wait at the
 * same time share one write. Thread-safe.
 *
 * <p>A caller adds its calls to a queue and does not wait. The writer's thread writes the queued
 * calls group by group until the queue is empty. The longer a write takes, the larger the next
 * group.
 *
 * <p>The writer's thread encodes the calls of each partition in a group as one block for each
 * chunk. So the lines of a chunk share one dictionary, and the journal stores the bytes that Kafka
 * receives.
 */
final class GroupCommit {
  private static final Append.NotKept UNFINISHED =
      new Append.NotKept(Reason.WRITE_FAILED, "the write did not complete");
  private static final Append.NotKept STOPPING =
      new Append.NotKept(Reason.CLOSING, "the node is stopping");

  /**
   * Maximum number of lines in one write. The limit bounds the time that callers wait for each
   * other's lines.
   */
  private static final int MAX_GROUP_LINES = 1_000;

  /** Size at which a group is full, in bytes. The size is the sum of the lines' upper bounds. */
  private static final int MAX_GROUP_BYTES = 1024 * 1024;

  /**
   * Duration after which the log reports a write as stalled, for example because the disk does not
   * respond.
   */
  private static final long STALLED_NANOS = 2_000_000_000;

  private static final Logger LOG = LoggerFactory.getLogger(GroupCommit.class);

  private final Journal journal;
  private final long maxHeldBytes;
  private final boolean waitForAcks;
  private final Duration ackTimeout;
  private final long failureStandsNanos;
  private final RecordStatistics statistics;
  private final RecorderThreads threads;
  private final BooleanSupplier isIdle;
  private final LocalClock clock;

  private final Queue<Append> queue = new ConcurrentLinkedQueue<>();

  /** Whether a task that writes the queue is scheduled or running. */
  private final AtomicBoolean writing = new AtomicBoolean();

  private final ReentrantLock writeLock = new ReentrantLock();

  private volatile boolean closed;

  // guarded by writeLock
  private final List<PartitionGroup> partitions = new ArrayList<>();
  private final List<Append> group = new ArrayList<>();
  private final List<PartitionGroup> touched = new ArrayList<>();
  private final List<Chunk> chunks = new ArrayList<>();

  /** The encoder of all partitions; null before the first group and after an exception. */
  private @Nullable CallBatchWriter encoder;

  private volatile boolean isWriting;
  private volatile long writeBegunNanos;
  private volatile String writeFailure = "";
  private volatile long writeFailedNanos;

  /**
   * Creates a group commit.
   *
   * @param buffers the buffers of all partitions, by partition
   * @param threads provides the writer's thread. {@code threads.wakeUp} runs after a write if a
   *     buffer has a full batch or the recording thread is idle. {@code threads.faults} receives
   *     unexpected exceptions after all callers were answered
   * @param isIdle whether the recording thread may be in a long pause
   */
  GroupCommit(
      RecordConfig config,
      Journal journal,
      List<PartitionBuffer> buffers,
      BatchSealer.Limits limits,
      RecordStatistics statistics,
      RecorderThreads threads,
      BooleanSupplier isIdle,
      LocalClock clock) {
    this.journal = journal;
    for (PartitionBuffer buffer : buffers) {
      partitions.add(new PartitionGroup(buffer, limits));
    }
    this.maxHeldBytes = config.maxHeldBytes();
    this.waitForAcks = config.durability() == Durability.ACKED;
    this.ackTimeout = config.ackTimeout();
    this.failureStandsNanos = config.failureStands().toNanos();
    this.statistics = statistics;
    this.threads = threads;
    this.isIdle = isIdle;
    this.clock = clock;
  }

  /**
   * Queues the lines. The outcome of the append completes when the journal has stored or refused
   * the lines.
   */
  void commit(Append append) {
    queue.add(append);
    writeSoon();
  }

  private void writeSoon() {
    if (writing.get() || !writing.compareAndSet(false, true)) {
      return;
    }
    try {
      threads.writer().execute(this::writeAll);
    } catch (RejectedExecutionException ended) {
      refuseQueue(STOPPING);
    } catch (RuntimeException | Error fault) {
      // The thread could not be started. The next append tries again.
      refuseQueue(UNFINISHED);
      noteFault(fault);
    }
  }

  /** Refuses all queued lines, because no task writes them. */
  private void refuseQueue(Append.NotKept why) {
    writing.set(false);
    for (Append append = queue.poll(); append != null; append = queue.poll()) {
      append.refuse(why);
    }
  }

  private void writeAll() {
    try {
      while (!queue.isEmpty()) {
        commitGroup();
      }
    } finally {
      writing.set(false);
      // a caller that added lines before the flag was cleared has scheduled no task
      if (!queue.isEmpty()) {
        writeSoon();
      }
    }
  }

  /**
   * Returns the reason why the last write failed, or reports that a write is stalled. Returns the
   * empty string after a successful write. Some time after a failure, also returns the empty
   * string, so that the node becomes ready and new calls try a write again.
   */
  String writeFailure() {
    if (isWriting && clock.nowNanos() - writeBegunNanos >= STALLED_NANOS) {
      return "a write to the journal has been in progress for "
          + TimeUnit.NANOSECONDS.toSeconds(clock.nowNanos() - writeBegunNanos)
          + " s";
    }
    boolean recent = clock.nowNanos() - writeFailedNanos < failureStandsNanos;
    return recent ? writeFailure : "";
  }

  /**
   * Refuses all further lines, and waits for the write in progress.
   *
   * @return whether no write is in progress
   */
  boolean close(Duration atMost) throws InterruptedException {
    closed = true;
    if (!writeLock.tryLock(atMost.toNanos(), TimeUnit.NANOSECONDS)) {
      return false;
    }
    writeLock.unlock();
    return true;
  }

  private void commitGroup() {
    writeLock.lock();
    try {
      writeGroup();
    } catch (RuntimeException | Error fault) {
      refuseGroup(UNFINISHED);
      noteFault(fault);
    } finally {
      writeLock.unlock();
    }
  }

  private void noteFault(Throwable fault) {
    writeFailedNanos = clock.nowNanos();
    writeFailure = "writing to the journal failed: " + fault;
    threads.faults().handle("writing to the journal", fault);
  }

  /**
   * Returns whether the journal has no space for an append. An empty journal has space for every
   * append, because the upper bound of the bytes is far above their number.
   */
  private boolean isFull(long groupBytesAtMost, Append append) {
    long held = statistics.journalBytes() + groupBytesAtMost;
    return held > 0 && held + append.bytesAtMost() > maxHeldBytes;
  }

  private void writeGroup() {
    long bytesAtMost = 0;
    int lines = 0;
    while (lines < MAX_GROUP_LINES && bytesAtMost < MAX_GROUP_BYTES) {
      Append append = queue.poll();
      if (append == null) {
        break;
      }
      if (closed) {
        append.refuse(STOPPING);
      } else if (isFull(bytesAtMost, append)) {
        append.refuse(
            new Append.NotKept(
                Reason.FULL, "the journal is at its limit of " + maxHeldBytes + " bytes"));
      } else {
        group.add(append);
        place(append);
        bytesAtMost += append.bytesAtMost();
        lines += append.count();
      }
    }
    if (!group.isEmpty()) {
      write(lines);
    }
  }

  private void place(Append append) {
    boolean awaitsAcks = waitForAcks || append.isWatched();
    if (awaitsAcks) {
      append.awaitAcks();
    }
    for (int i = 0; i < append.count(); i++) {
      PartitionGroup partition = partitions.get(append.partition(i));
      if (partition.isEmpty()) {
        touched.add(partition);
      }
      append.number(i, partition.add(append, i));
      if (awaitsAcks) {
        partition.addWaiter(append.lineNumber(i), append);
      }
    }
  }

  private void write(int lines) {
    for (PartitionGroup partition : touched) {
      chunks.addAll(partition.chunks());
    }
    writeBegunNanos = clock.nowNanos();
    isWriting = true;
    try {
      journal.append(chunks);
    } catch (JournalException failure) {
      refuseGroup(new Append.NotKept(Reason.WRITE_FAILED, recordFailure(failure)));
      return;
    } finally {
      isWriting = false;
    }
    writeFailure = "";
    statistics.appended(lines, chunks.stream().mapToLong(chunk -> chunk.lines().length).sum());
    moveToBuffers();
    keepGroup();
  }

  private String recordFailure(JournalException failure) {
    String detail = String.valueOf(failure.getMessage());
    if (writeFailure.isEmpty()) {
      LOG.error("journal_write_failed detail=\"{}\"; calls are refused", detail, failure);
    }
    writeFailedNanos = clock.nowNanos();
    writeFailure = detail;
    return detail;
  }

  private byte[] encode(List<CallEvent> calls) {
    CallBatchWriter used = encoder == null ? new CallBatchWriter() : encoder;
    encoder = null; // after an exception, the encoder may contain calls and is not used again
    calls.forEach(used::add);
    byte[] lines = used.take();
    encoder = used;
    return lines;
  }

  private void moveToBuffers() {
    long nowNanos = clock.nowNanos();
    boolean full = false;
    for (PartitionGroup partition : touched) {
      full |= partition.moveToBuffer(nowNanos);
    }
    if (full || isIdle.getAsBoolean()) {
      threads.wakeUp().run();
    }
  }

  private void refuseGroup(Append.NotKept why) {
    group.forEach(append -> append.refuse(why));
    clearGroup();
  }

  private void keepGroup() {
    if (waitForAcks) {
      Append.NotKept late =
          new Append.NotKept(
              Reason.TIMEOUT, "Kafka did not acknowledge the call within " + ackTimeout);
      group.forEach(append -> append.keepUntilAcked(late, ackTimeout.toNanos()));
    } else {
      group.forEach(Append::keep);
    }
    clearGroup();
  }

  private void clearGroup() {
    chunks.clear();
    touched.forEach(PartitionGroup::clear);
    touched.clear();
    group.clear();
  }

  /** The lines of one partition in the current group. The object is reused for every group. */
  private final class PartitionGroup {
    private final PartitionBuffer buffer;
    private final BatchSealer.Limits limits;
    private final List<Chunk> chunks = new ArrayList<>();
    private final List<PartitionBuffer.Waiter> waiters = new ArrayList<>();
    private final List<CallEvent> calls = new ArrayList<>();
    private long bytesAtMost;
    private long lastLine;
    private long oldestEpochMillis = Long.MAX_VALUE;

    PartitionGroup(PartitionBuffer buffer, BatchSealer.Limits limits) {
      this.buffer = buffer;
      this.limits = limits;
    }

    boolean isEmpty() {
      return calls.isEmpty() && chunks.isEmpty();
    }

    /**
     * Adds a call and returns the number of its line.
     *
     * @param index index of the call in the append
     */
    long add(Append append, int index) {
      if (isEmpty()) {
        lastLine = buffer.appendedLines();
      }
      calls.add(append.call(index));
      bytesAtMost += append.bytesAtMost(index);
      oldestEpochMillis = Math.min(oldestEpochMillis, append.begunAtEpochMillis());
      lastLine++;
      if (limits.isFull(calls.size(), bytesAtMost)) {
        endChunk();
      }
      return lastLine;
    }

    void addWaiter(long line, Append append) {
      waiters.add(new PartitionBuffer.Waiter(line, append));
    }

    /** Returns all lines as chunks. */
    List<Chunk> chunks() {
      if (!calls.isEmpty()) {
        endChunk();
      }
      return chunks;
    }

    private void endChunk() {
      chunks.add(
          new Chunk(
              buffer.partition(),
              lastLine - calls.size() + 1,
              calls.size(),
              oldestEpochMillis,
              encode(calls)));
      clearCalls();
    }

    /** Moves the stored lines to the buffer. Returns whether the buffer then has a full batch. */
    boolean moveToBuffer(long nowNanos) {
      buffer.append(chunks, waiters, nowNanos);
      clear();
      return buffer.isFull(limits);
    }

    void clear() {
      chunks.clear();
      waiters.clear();
      clearCalls();
    }

    private void clearCalls() {
      calls.clear();
      bytesAtMost = 0;
      oldestEpochMillis = Long.MAX_VALUE;
    }
  }
}
