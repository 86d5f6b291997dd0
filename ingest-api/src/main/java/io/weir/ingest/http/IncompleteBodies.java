// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.access.port.SlowHeads;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jetty.io.Connection;

/** The requests with incomplete bodies, and the memory that these bodies occupy. Thread-safe. */
final class IncompleteBodies implements SlowHeads.Bodies {
  /**
   * Maximum number of bytes of all incomplete bodies. Without this bound, ten thousand connections
   * could occupy 64 KiB each.
   */
  static final long MAX_BYTES = 64L << 20;

  /** The problem of a request that did not arrive in time. */
  static final Problem TOO_SLOW =
      Problem.of(
          ProblemReason.REQUEST_TOO_SLOW,
          "the request did not arrive completely within "
              + SlowHeads.READ_LIMIT.toSeconds()
              + " s; the call was neither decided nor recorded");

  private final Set<BodyReader> readers = ConcurrentHashMap.newKeySet();
  private final AtomicLong bytes = new AtomicLong();
  private volatile boolean stopping;

  /**
   * Registers a reader that must wait for more bytes, and counts the bytes of the reader's buffer.
   *
   * @return false if the reader's bytes would exceed the bound of all incomplete bodies
   */
  boolean keep(BodyReader reader, int moreBytes) {
    if (bytes.addAndGet(moreBytes) > MAX_BYTES) {
      bytes.addAndGet(-moreBytes);
      return false;
    }
    readers.add(reader);
    return true;
  }

  void release(BodyReader reader, int keptBytes) {
    if (readers.remove(reader)) {
      bytes.addAndGet(-keptBytes);
    }
  }

  /** Responds with 408 to the requests that began before the given time. */
  @Override
  public void endThoseBefore(long beginNanos) {
    for (BodyReader reader : readers) {
      if (reader.beginNanos() - beginNanos < 0) {
        reader.timeOut();
      }
    }
  }

  /**
   * Responds with 503 to all waiting requests, and also to each request that begins to wait later.
   */
  void stop() {
    stopping = true;
    readers.forEach(BodyReader::stop);
  }

  /** Returns whether {@link #stop} was called. */
  boolean isStopping() {
    return stopping;
  }

  @Override
  public Set<Connection> connections() {
    Set<Connection> found = new HashSet<>();
    for (BodyReader reader : readers) {
      found.add(reader.connection());
    }
    return found;
  }

  int count() {
    return readers.size();
  }

  long bytes() {
    return bytes.get();
  }
}
