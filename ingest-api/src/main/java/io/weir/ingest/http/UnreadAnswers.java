// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.Counter;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The answers that are complete and cannot be written yet, since their callers do not read: neither
 * them nor those before them on the same connection. Each occupies its memory, and nothing else. If
 * all together have more than a bound, the connection is closed of the one whose caller has read
 * nothing for longest. So callers that do not read displace one another, and those that read,
 * however slowly, come to an end. Thread-safe.
 */
final class UnreadAnswers {
  private final Counter closed;
  private final long maxBytes;

  /** The oldest first. */
  private final Set<Answer> begun = new LinkedHashSet<>();

  private long bytes;

  /** An answer that is not written yet. Compared by identity. */
  interface Answer {
    /** Returns the length of the answer. */
    long bytes();

    /** Returns when the connection has last taken a part of it, as {@link System#nanoTime}. */
    long progressNanos();

    /** Closes its connection, unless it has been written. */
    void close();
  }

  /**
   * Creates an empty set.
   *
   * @param closed counts the answers whose connections were closed
   * @param maxBytes most bytes of all
   */
  UnreadAnswers(Counter closed, long maxBytes) {
    this.closed = closed;
    this.maxBytes = maxBytes;
  }

  /** Notes that an answer is complete and not written. */
  void begin(Answer answer) {
    for (Answer victim : add(answer)) {
      closed.increment();
      victim.close();
    }
  }

  /** Adds an answer, and removes those that give way to it. */
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

  /** Returns the answer of which nothing was read for longest. */
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

  /** Returns the number of answers that are being written. */
  synchronized int size() {
    return begun.size();
  }

  /** Notes that an answer has been written, or never will be. */
  synchronized void end(Answer answer) {
    if (begun.remove(answer)) {
      bytes -= answer.bytes();
    }
  }
}
