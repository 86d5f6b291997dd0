// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The readiness of a starting node: it is ready for calls when the cache is warm, or known not to
 * answer, and all corrections have been read. After a maximum wait the node is ready whatever is
 * still missing, since policies can decide calls without it. A node that has become ready stays so:
 * a loss in Redis affects all nodes, and none is better than another. Thread-safe.
 */
final class StartUp {
  private static final Logger LOG = LoggerFactory.getLogger(StartUp.class);

  private static final long LOOK_MILLIS = 10;

  private final Supplier<String> missing;
  private final long waitNanos;
  private final long begunNanos = System.nanoTime();
  private volatile boolean isOver;

  /**
   * Creates the state of a start that begins now.
   *
   * @param missing what the start waits for, in words; an empty string if there is nothing
   * @param wait longest wait
   */
  StartUp(Supplier<String> missing, Duration wait) {
    this.missing = missing;
    this.waitNanos = wait.toNanos();
  }

  /** Returns whether the start is over. */
  boolean isOver() {
    if (isOver) {
      return true;
    }
    String what = missing.get();
    if (!what.isEmpty() && System.nanoTime() - begunNanos < waitNanos) {
      return false;
    }
    synchronized (this) {
      if (!isOver && !what.isEmpty() && waitNanos > 0) {
        LOG.warn(
            "ready_all_the_same missing=\"{}\" waited_ms={}",
            what,
            TimeUnit.NANOSECONDS.toMillis(waitNanos));
      }
      isOver = true;
    }
    return true;
  }

  /** Waits until the start is over. */
  void await() throws InterruptedException {
    while (!isOver()) {
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    }
  }
}
