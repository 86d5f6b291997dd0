// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Recorded;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The lines of one caller on their way into the journal, and what came of them. */
final class Append {
  private final WatermarkTicket ticket;
  private final int[] partitions;
  private final byte[][] lines;
  private final long[] lineNumbers;
  private final int bytes;
  private final int longestLineBytes;
  private final Thread caller = Thread.currentThread();
  private final AtomicInteger lanesToAck = new AtomicInteger();
  private volatile @Nullable Outcome outcome;

  /**
   * Lines to be kept together.
   *
   * @param partitions partition of each line
   * @param lines without line feeds
   */
  Append(WatermarkTicket ticket, int[] partitions, byte[][] lines) {
    this.ticket = ticket;
    this.partitions = partitions;
    this.lines = lines;
    this.lineNumbers = new long[lines.length];
    int sum = 0;
    int longest = 0;
    for (byte[] line : lines) {
      sum = Math.addExact(sum, line.length + 1);
      longest = Math.max(longest, line.length);
    }
    this.bytes = sum;
    this.longestLineBytes = longest;
  }

  /** What the journal did. */
  sealed interface Outcome {}

  /** It keeps the lines. */
  record Kept() implements Outcome {
    static final Kept KEPT = new Kept();
  }

  /** It keeps none of them. */
  record NotKept(Recorded.Reason reason, String detail) implements Outcome {}

  int count() {
    return lines.length;
  }

  /** Size of the lines with their line feeds. */
  int bytes() {
    return bytes;
  }

  int longestLineBytes() {
    return longestLineBytes;
  }

  /** When its calls began; none of them was decided before. */
  long begunAtEpochMillis() {
    return ticket.begunAtEpochMillis();
  }

  int partition(int index) {
    return partitions[index];
  }

  byte[] line(int index) {
    return lines[index];
  }

  long lineNumber(int index) {
    return lineNumbers[index];
  }

  void number(int index, long lineNumber) {
    lineNumbers[index] = lineNumber;
  }

  /** What came of it; null while it is not known. */
  @Nullable Outcome outcome() {
    return outcome;
  }

  boolean isAcked() {
    return lanesToAck.get() == 0;
  }

  Thread caller() {
    return caller;
  }

  void awaitAcksOf(int lanes) {
    lanesToAck.set(lanes);
  }

  void ackedInOneLane() {
    if (lanesToAck.decrementAndGet() == 0) {
      LockSupport.unpark(caller);
    }
  }

  /** Tells the caller, and ends what its ticket held open. */
  void complete(Outcome known) {
    ticket.end();
    outcome = known;
    if (caller != Thread.currentThread()) {
      LockSupport.unpark(caller);
    }
  }
}
