// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Recorded;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The lines of one caller that are appended to the journal together, and the outcome. Created by
 * the caller's thread, which waits for the outcome and, if asked, for Kafka's acknowledgements.
 */
final class Append {
  private final LowWatermark.HeldTicket ticket;
  private final int[] partitions;
  private final byte[][] lines;
  private final long[] lineNumbers;
  private final int bytes;
  private final int longestLineBytes;
  private final Thread caller = Thread.currentThread();
  private final AtomicInteger unackedLines = new AtomicInteger();
  private volatile @Nullable Outcome outcome;

  /**
   * Creates an append without an outcome.
   *
   * @param ticket the ticket of the lines' calls; ended with the append
   * @param partitions partition of each line
   * @param lines the lines, without line feeds
   */
  Append(LowWatermark.HeldTicket ticket, int[] partitions, byte[][] lines) {
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

  /** What the journal did with the lines. */
  sealed interface Outcome {}

  /** The journal has all of the lines. */
  record Kept() implements Outcome {
    static final Kept KEPT = new Kept();
  }

  /** The journal has none of the lines. */
  record NotKept(Recorded.Reason reason, String detail) implements Outcome {}

  int count() {
    return lines.length;
  }

  /** Returns the size of the lines with their line feeds, in bytes. */
  int bytes() {
    return bytes;
  }

  /** Returns the size of the longest line without its line feed, in bytes. */
  int longestLineBytes() {
    return longestLineBytes;
  }

  /** Returns when the calls began, which is not after any of them was decided. */
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

  Thread caller() {
    return caller;
  }

  /** Returns the outcome, or null while there is none. */
  @Nullable Outcome outcome() {
    return outcome;
  }

  /** Sets the outcome, ends the ticket and wakes the caller. */
  void complete(Outcome known) {
    ticket.end();
    outcome = known;
    if (caller != Thread.currentThread()) {
      LockSupport.unpark(caller);
    }
  }

  /** From now on {@link #isAcked} waits for an acknowledgement of each line. */
  void awaitAcks() {
    unackedLines.set(lines.length);
  }

  /** Counts the acknowledgement of one line; the last one wakes the caller. */
  void lineAcked() {
    if (unackedLines.decrementAndGet() == 0) {
      LockSupport.unpark(caller);
    }
  }

  /** Returns whether Kafka has acknowledged all lines, or nobody waits for that. */
  boolean isAcked() {
    return unackedLines.get() == 0;
  }
}
