// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Recorded;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.CallEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Calls that the journal appends together for one caller, and the outcome of the append. Each call
 * is one line of its partition. The caller passes the append to the writer, and only the writer
 * completes it. The outcome is thread-safe.
 */
final class Append {
  private final LowWatermark.HeldTicket ticket;
  private final int[] partitions;
  private List<CallEvent> calls;
  private final long[] lineNumbers;
  private final int[] callBytesAtMost;
  private final int bytesAtMost;
  private final int longestLineBytesAtMost;
  private final AtomicInteger unackedLines = new AtomicInteger();
  private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
  private final @Nullable Runnable whenAcked;
  private boolean isTicketEnded;

  /**
   * Creates an append without an outcome.
   *
   * @param ticket the ticket of the calls; this object ends the ticket
   * @param partitions the partition of each call
   * @param whenAcked runs when Kafka has acknowledged every line; null for no action
   */
  Append(
      LowWatermark.HeldTicket ticket,
      int[] partitions,
      List<CallEvent> calls,
      @Nullable Runnable whenAcked) {
    this.ticket = ticket;
    this.whenAcked = whenAcked;
    this.partitions = partitions;
    this.calls = List.copyOf(calls);
    this.lineNumbers = new long[calls.size()];
    this.callBytesAtMost = calls.stream().mapToInt(CallBatchWriter::bytesAtMost).toArray();
    int sum = 0;
    int longest = 0;
    for (int bytes : callBytesAtMost) {
      sum = Math.addExact(sum, bytes);
      longest = Math.max(longest, bytes);
    }
    this.bytesAtMost = sum;
    this.longestLineBytesAtMost = longest;
  }

  /** The result of appending the lines. */
  sealed interface Outcome {}

  /** The lines have the durability that the deployment requires. */
  record Kept() implements Outcome {
    static final Kept KEPT = new Kept();
  }

  /** The journal has none of the lines, or Kafka did not acknowledge them in time. */
  record NotKept(Recorded.Reason reason, String detail) implements Outcome {}

  int count() {
    return partitions.length;
  }

  /** Returns an upper bound for the size of the lines, in bytes. */
  int bytesAtMost() {
    return bytesAtMost;
  }

  /** Returns an upper bound for the size of the longest line, in bytes. */
  int longestLineBytesAtMost() {
    return longestLineBytesAtMost;
  }

  /**
   * Returns the time at which the calls began, in milliseconds since the epoch. No call of the
   * append was decided before this time.
   */
  long begunAtEpochMillis() {
    return ticket.begunAtEpochMillis();
  }

  int partition(int index) {
    return partitions[index];
  }

  /** Returns an upper bound for the size of one line, in bytes. */
  int bytesAtMost(int index) {
    return callBytesAtMost[index];
  }

  CallEvent call(int index) {
    return calls.get(index);
  }

  long lineNumber(int index) {
    return lineNumbers[index];
  }

  void number(int index, long lineNumber) {
    lineNumbers[index] = lineNumber;
  }

  /** Returns the outcome, which completes exactly once, and never with an exception. */
  CompletableFuture<Outcome> outcome() {
    return outcome;
  }

  /** Ends the ticket and completes the outcome; the journal has none of the lines. */
  void refuse(NotKept why) {
    endTicket();
    outcome.complete(why);
  }

  /** Ends the ticket and completes the outcome; the journal has all of the lines. */
  void keep() {
    endTicket();
    outcome.complete(Kept.KEPT);
  }

  private void endTicket() {
    if (!isTicketEnded) {
      isTicketEnded = true;
      calls = List.of(); // Kafka's acknowledgement may take long, and the calls need much memory
      ticket.end();
    }
  }

  /** Returns whether an action must run when Kafka has acknowledged every line. */
  boolean isWatched() {
    return whenAcked != null;
  }

  /** Starts to count the acknowledgements of the lines. */
  void awaitAcks() {
    unackedLines.set(partitions.length);
  }

  /**
   * Ends the ticket, because the journal has all of the lines. The last acknowledgement completes
   * the outcome. If an acknowledgement is missing after the timeout, the outcome becomes {@code
   * otherwise}.
   */
  void keepUntilAcked(NotKept otherwise, long timeoutNanos) {
    endTicket();
    var unused = outcome.completeOnTimeout(otherwise, timeoutNanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Counts the acknowledgement of one line. The last acknowledgement completes the outcome if it is
   * still open, and runs the action {@code whenAcked}.
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
