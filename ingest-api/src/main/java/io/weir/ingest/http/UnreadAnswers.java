// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.Counter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * The answers that are complete and cannot be written yet, since their callers do not read: neither
 * them nor those before them on the same connection. Each occupies its memory, of a servlet also a
 * thread, so there is room for {@value #MAX} of them. If another needs the room, the connection of
 * the oldest is closed, unless that one has had less than two seconds and all together have less
 * than 64 MiB; so callers that do not read displace one another. The work of the call is done by
 * then and holds no other place. Thread-safe.
 */
final class UnreadAnswers {
  /** Less than the platform threads that are kept besides those of calls in progress. */
  static final int MAX = 32;

  /** Most bytes of all; above it the oldest give way at once. */
  static final long MAX_BYTES = 64L << 20;

  /** How long a caller may read before its answer gives way to others. */
  static final Duration GRACE = Duration.ofSeconds(2);

  private final Counter closed;
  private final LongSupplier nanos;

  /** By what closes its connection; the oldest first. */
  private final Map<Runnable, Answer> begun = new LinkedHashMap<>();

  private long bytes;

  private record Answer(long sinceNanos, long bytes) {}

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
   * Notes that an answer is complete and not written.
   *
   * @param close closes its connection; identifies the answer
   * @param bytes its length
   */
  void begin(Runnable close, long bytes) {
    for (Runnable oldest : add(close, bytes)) {
      closed.increment();
      oldest.run();
    }
  }

  /** Adds an answer, and removes those that give way to it. */
  private synchronized List<Runnable> add(Runnable close, long length) {
    long now = nanos.getAsLong();
    begun.put(close, new Answer(now, length));
    bytes += length;
    List<Runnable> closing = new ArrayList<>();
    Iterator<Map.Entry<Runnable, Answer>> oldestFirst = begun.entrySet().iterator();
    while (begun.size() > MAX) {
      Map.Entry<Runnable, Answer> oldest = oldestFirst.next();
      boolean hadItsTime = now - oldest.getValue().sinceNanos >= GRACE.toNanos();
      if (!hadItsTime && bytes <= MAX_BYTES) {
        break;
      }
      closing.add(oldest.getKey());
      bytes -= oldest.getValue().bytes;
      oldestFirst.remove();
    }
    return closing;
  }

  /** Returns the number of answers that are being written. */
  synchronized int size() {
    return begun.size();
  }

  /** Notes that an answer has been written, or never will be. */
  synchronized void end(Runnable close) {
    Answer ended = begun.remove(close);
    if (ended != null) {
      bytes -= ended.bytes;
    }
  }
}
