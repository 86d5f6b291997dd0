// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.Counter;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The large answers that are being written. An answer that does not fit into the buffers of a
 * connection occupies a thread for as long as the caller leaves it unread, so there is room for
 * {@value #MAX} of them. If another needs the room, the connection of the oldest is closed, unless
 * that one has had less than two seconds; so callers that do not read displace one another. The
 * work of the call is done by then and holds no other place. Thread-safe.
 */
final class UnreadAnswers {
  /** Less than the platform threads that are kept besides those of calls in progress. */
  static final int MAX = 32;

  /** How long a caller may read before its answer gives way to others. */
  static final Duration GRACE = Duration.ofSeconds(2);

  private final Counter closed;
  private final LongSupplier nanos;

  /** When the writing of each began, by what closes its connection; the oldest first. */
  private final Map<Runnable, Long> begun = new LinkedHashMap<>();

  /**
   * Creates an empty set.
   *
   * @param closed counts the answers whose connections were closed
   * @param nanos the clock
   */
  UnreadAnswers(Counter closed, LongSupplier nanos) {
    this.closed = closed;
    this.nanos = nanos;
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
    long now = nanos.getAsLong();
    begun.put(close, now);
    if (begun.size() <= MAX) {
      return null;
    }
    Map.Entry<Runnable, Long> oldest = begun.entrySet().iterator().next();
    if (now - oldest.getValue() < GRACE.toNanos()) {
      return null;
    }
    Runnable closing = oldest.getKey();
    begun.remove(closing);
    return closing;
  }

  /** Returns the number of answers that are being written. */
  synchronized int size() {
    return begun.size();
  }

  /** Notes that an answer has been written, or never will be. */
  synchronized void end(Runnable close) {
    begun.remove(close);
  }
}
