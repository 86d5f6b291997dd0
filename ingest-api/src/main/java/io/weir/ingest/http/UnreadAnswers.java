// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.Counter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The answers that are complete and cannot be written yet, since their callers do not read: neither
 * them nor those before them on the same connection. Each occupies its memory, and nothing else. If
 * all together have more than a bound, the connection is closed of the one that would take longest
 * at the speed at which its caller has read so far; it has had two seconds, unless none has. So
 * callers that do not read displace one another, and those that read slowly come to an end.
 * Thread-safe.
 */
final class UnreadAnswers {
  /** How long a caller may read before its answer gives way to others. */
  static final Duration GRACE = Duration.ofSeconds(2);

  private final Counter closed;
  private final long maxBytes;
  private final LongSupplier nanos;

  /** The answers with the times at which they began, the oldest first. */
  private final Map<Answer, Long> begun = new LinkedHashMap<>();

  private long bytes;

  /** An answer that is not written yet. Compared by identity. */
  interface Answer {
    /** Returns the length of the answer. */
    long bytes();

    /** Returns how many of its bytes the connection has taken. */
    long written();

    /** Closes its connection, unless it has been written. */
    void close();
  }

  /**
   * Creates an empty set.
   *
   * @param closed counts the answers whose connections were closed
   * @param maxBytes most bytes of all
   * @param nanos the clock
   */
  UnreadAnswers(Counter closed, long maxBytes, LongSupplier nanos) {
    this.closed = closed;
    this.maxBytes = maxBytes;
    this.nanos = nanos;
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
    long now = nanos.getAsLong();
    begun.put(answer, now);
    bytes += answer.bytes();
    List<Answer> closing = new ArrayList<>();
    while (bytes > maxBytes && begun.size() > 1) {
      Answer victim = slowest(now);
      begun.remove(victim);
      bytes -= victim.bytes();
      closing.add(victim);
    }
    return closing;
  }

  /** Returns the answer that would take longest, of those that have had their time if any has. */
  private Answer slowest(long now) {
    Answer slowest = null;
    boolean slowestHadItsTime = false;
    double longest = -1;
    for (Map.Entry<Answer, Long> each : begun.entrySet()) {
      long age = now - each.getValue();
      boolean hadItsTime = age >= GRACE.toNanos();
      double takes = nanosLeft(each.getKey(), age);
      if (slowest == null
          || (hadItsTime && !slowestHadItsTime)
          || (hadItsTime == slowestHadItsTime && takes > longest)) {
        slowest = each.getKey();
        slowestHadItsTime = hadItsTime;
        longest = takes;
      }
    }
    return required(slowest);
  }

  private static double nanosLeft(Answer answer, long ageNanos) {
    long written = answer.written();
    double left = (double) answer.bytes() - written;
    return written == 0 ? Double.MAX_VALUE : left * ((double) ageNanos + 1) / written;
  }

  private static Answer required(@Nullable Answer answer) {
    if (answer == null) {
      throw new IllegalStateException("no answer is left to close");
    }
    return answer;
  }

  /** Returns the number of answers that are being written. */
  synchronized int size() {
    return begun.size();
  }

  /** Notes that an answer has been written, or never will be. */
  synchronized void end(Answer answer) {
    if (begun.remove(answer) != null) {
      bytes -= answer.bytes();
    }
  }
}
