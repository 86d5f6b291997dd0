// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.Counter;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The complete responses that Weir cannot write yet, because callers do not read from their
 * connections. An unread response occupies memory, but no thread. If the total size exceeds a
 * bound, Weir closes the connection with the oldest read progress. Callers that do not read
 * therefore displace each other. Callers that read slowly still receive their responses.
 * Thread-safe.
 */
final class UnreadAnswers {
  private final Counter closed;
  private final long maxBytes;

  /** The unread responses in order of arrival, oldest first. */
  private final Set<Answer> begun = new LinkedHashSet<>();

  private long bytes;

  /** A response that is not written yet. Responses are compared by identity. */
  interface Answer {
    /** Returns the length of the response. */
    long bytes();

    /**
     * Returns the time at which the connection last accepted a part of the response, as {@link
     * System#nanoTime}.
     */
    long progressNanos();

    /** Closes the connection. Does nothing if the response has been written. */
    void close();
  }

  /**
   * Creates an empty set.
   *
   * @param closed counts the responses that were lost because Weir closed the connection
   * @param maxBytes maximum number of bytes of all responses
   */
  UnreadAnswers(Counter closed, long maxBytes) {
    this.closed = closed;
    this.maxBytes = maxBytes;
  }

  /** Adds a response that is complete but not written. */
  void begin(Answer answer) {
    for (Answer victim : add(answer)) {
      closed.increment();
      victim.close();
    }
  }

  /**
   * Adds a response. Removes and returns other responses if the total size exceeds the bound; the
   * caller must close their connections.
   */
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

  /** Returns the response with the oldest read progress. */
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

  /** Returns the number of responses that are not written yet. */
  synchronized int size() {
    return begun.size();
  }

  /** Removes a response that the server has written or cannot write. */
  synchronized void end(Answer answer) {
    if (begun.remove(answer)) {
      bytes -= answer.bytes();
    }
  }
}
