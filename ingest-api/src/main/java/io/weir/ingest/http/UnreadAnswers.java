// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.Counter;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The large answers that are being written. An answer that does not fit into the buffers of a
 * connection occupies a thread for as long as the caller leaves it unread, so there is room for
 * {@value #MAX} of them; if another needs the room, the connection of the oldest is closed. A
 * caller that reads takes milliseconds, so callers that do not read displace one another. The work
 * of the call is done by then and holds no other place. Thread-safe.
 */
final class UnreadAnswers {
  /** Less than the platform threads that are kept besides those of calls in progress. */
  static final int MAX = 32;

  private final Counter closed;
  private final Set<Runnable> oldestFirst = new LinkedHashSet<>();

  /**
   * Creates an empty set.
   *
   * @param closed counts the answers whose connections were closed
   */
  UnreadAnswers(Counter closed) {
    this.closed = closed;
  }

  /**
   * Notes that an answer is about to be written.
   *
   * @param close closes its connection; identifies the answer
   */
  void begin(Runnable close) {
    Runnable oldest = add(close);
    if (oldest != null) {
      closed.increment();
      oldest.run();
    }
  }

  private synchronized @Nullable Runnable add(Runnable close) {
    oldestFirst.add(close);
    if (oldestFirst.size() <= MAX) {
      return null;
    }
    Runnable oldest = oldestFirst.iterator().next();
    oldestFirst.remove(oldest);
    return oldest;
  }

  /** Returns the number of answers that are being written. */
  synchronized int size() {
    return oldestFirst.size();
  }

  /** Notes that an answer has been written, or never will be. */
  synchronized void end(Runnable close) {
    oldestFirst.remove(close);
  }
}
