// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Recorded;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The lines of one caller that are appended to the journal together, and the outcome. Passed from
 * the caller to the writer, which alone refuses or keeps it; the outcome is thread-safe.
 */
final class Append {
  private final LowWatermark.HeldTicket ticket;
  private final int[] partitions;
  private final byte[][] lines;
  private final long[] lineNumbers;
  private final int bytes;
  private final int longestLineBytes;
  private final AtomicInteger unackedLines = new AtomicInteger();
  private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
  private final @Nullable Runnable whenAcked;
  private boolean isTicketEnded;

  /**
   * Creates an append without an outcome.
   *
   * @param ticket the ticket of the lines' calls; ended with the append
   * @param partitions partition of each line
   * @param lines the lines, without line feeds
   * @param whenAcked run when Kafka has acknowledged every line; null for nobody
   */
  Append(
      LowWatermark.HeldTicket ticket,
      int[] partitions,
      byte[][] lines,
      @Nullable Runnable whenAcked) {
    this.ticket = ticket;
    this.whenAcked = whenAcked;
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

  /** What became of the lines. */
  sealed interface Outcome {}

  /** The lines are as durable as the deployment requires. */
  record Kept() implements Outcome {
    static final Kept KEPT = new Kept();
  }

  /** The journal has none of the lines, or Kafka has not acknowledged them in time. */
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

  /** Returns the outcome, which is completed once, normally. */
  CompletableFuture<Outcome> outcome() {
    return outcome;
  }

  /** The journal has none of the lines: ends the ticket, and completes the outcome. */
  void refuse(NotKept why) {
    endTicket();
    outcome.complete(why);
  }

  /** The journal has all of the lines: ends the ticket, and completes the outcome. */
  void keep() {
    endTicket();
    outcome.complete(Kept.KEPT);
  }

  private void endTicket() {
    if (!isTicketEnded) {
      isTicketEnded = true;
      ticket.end();
    }
  }

  /** Returns whether somebody is to be told when Kafka has acknowledged every line. */
  boolean isWatched() {
    return whenAcked != null;
  }

  /** From now on an acknowledgement of each line is waited for. */
  void awaitAcks() {
    unackedLines.set(lines.length);
  }

  /**
   * The journal has all of the lines: ends the ticket. The outcome is completed with the last
   * acknowledgement, or with the given one if that does not come in time.
   */
  void keepUntilAcked(NotKept otherwise, long timeoutNanos) {
    endTicket();
    var unused = outcome.completeOnTimeout(otherwise, timeoutNanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Counts the acknowledgement of one line. The last one completes the outcome, unless the journal
   * has done so, and is told to who wants to know.
   */
  void lineAcked() {
    if (unackedLines.decrementAndGet() == 0) {
      outcome.complete(Kept.KEPT);
      if (whenAcked != null) {
        whenAcked.run();
      }
    }
  }
}
