// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.Counter;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The complete answers that cannot be written yet, because their callers do not read this or an
 * earlier answer on the connection. Such an answer occupies only memory. If all together exceed a
 * bound, Weir closes the connection with the oldest read progress. So callers that do not read
 * displace each other, and callers that read, even slowly, get their answers. Thread-safe.
 */
final class UnreadAnswers {
  private final Counter closed;
  private final long maxBytes;

  /** In order of arrival, oldest first. */
  private final Set<Answer> begun = new LinkedHashSet<>();

  private long bytes;

  /** An answer that is not written yet. Compared by identity. */
  interface Answer {
    /** Returns the length of the answer. */
    long bytes();

    /** Returns when the connection last accepted a part of it, as {@link System#nanoTime}. */
    long progressNanos();

    /** Closes its connection, unless the answer has been written. */
    void close();
  }

  /**
   * Creates an empty set.
   *
   * @param closed counts the answers whose connections were closed
   * @param maxBytes maximum number of bytes of all answers
   */
  UnreadAnswers(Counter closed, long maxBytes) {
    this.closed = closed;
    this.maxBytes = maxBytes;
  }

  /** Records that an answer is complete and not written. */
  void begin(Answer answer) {
    for (Answer victim : add(answer)) {
      closed.increment();
      victim.close();
    }
  }

  /** Adds an answer, and removes and returns the answers whose connections must be closed. */
  private synchronized List<Answer> add(Answer answer) {
    begun.add(answer);
    bytes += answer.bytes();
    List<Answer> closing = new ArrayList<>();
    while (bytes > maxBytes && begun.size() > 1) {
      Answer victim = slowest();
      begun.remove(victim);
      bytes -= victim.bytes();
      closing.add(victim);
    }
    return closing;
  }

  /** Returns the answer with the oldest read progress. */
  private Answer slowest() {
    Answer slowest = null;
    for (Answer answer : begun) {
      if (slowest == null || answer.progressNanos() - slowest.progressNanos() < 0) {
        slowest = answer;
      }
    }
    if (slowest == null) {
      throw new IllegalStateException("no answer is left to close");
    }
    return slowest;
  }

  /** Returns the number of answers that are not written yet. */
  synchronized int size() {
    return begun.size();
  }

  /** Records that an answer was written, or never will be. */
  synchronized void end(Answer answer) {
    if (begun.remove(answer)) {
      bytes -= answer.bytes();
    }
  }
}
