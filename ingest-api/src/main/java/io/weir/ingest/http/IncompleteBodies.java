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

/** The requests whose body is incomplete, and the memory that they hold. Thread-safe. */
final class IncompleteBodies implements SlowHeads.Bodies {
  /**
   * Most bytes of incomplete bodies: without a bound of their own, ten thousand connections could
   * keep 64 KiB each.
   */
  static final long MAX_BYTES = 64L << 20;

  /** The answer to a request that has not arrived in time. */
  static final Problem TOO_SLOW =
      Problem.of(
          ProblemReason.REQUEST_TOO_SLOW,
          "the request was not whole within "
              + SlowHeads.READ_LIMIT.toSeconds()
              + " s; it was neither decided nor recorded");

  private final Set<BodyReader> readers = ConcurrentHashMap.newKeySet();
  private final AtomicLong bytes = new AtomicLong();
  private volatile boolean stopping;

  /**
   * Keeps a reader that has to wait for more bytes.
   *
   * @return false if its bytes do not fit into the bound
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

  /** Ends the requests that began before a time, each with 408. */
  @Override
  public void endThoseBefore(long beginNanos) {
    for (BodyReader reader : readers) {
      if (reader.beginNanos() - beginNanos < 0) {
        reader.timeOut();
      }
    }
  }

  /** Ends all requests with 503, also those that begin to wait from now on. */
  void stop() {
    stopping = true;
    readers.forEach(BodyReader::stop);
  }

  /** Returns whether no request waits for its body any more. */
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
