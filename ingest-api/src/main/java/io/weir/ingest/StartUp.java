// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether a node's start is over, so that calls may be sent to it: the cache is warm, or known not
 * to answer, and the corrections are read to their end. What is missing after a while is not waited
 * for any longer, since calls can be decided by policy without it. Once over it stays so: a loss in
 * Redis concerns all nodes, and none is better than another. Safe for threads.
 */
final class StartUp {
  private static final Logger LOG = LoggerFactory.getLogger(StartUp.class);

  private static final long LOOK_MILLIS = 10;

  private final Supplier<String> missing;
  private final long waitNanos;
  private final long begunNanos = System.nanoTime();
  private volatile boolean isOver;

  /**
   * A start that begins now.
   *
   * @param missing what it waits for, in words; empty when for nothing
   * @param wait how long it does
   */
  StartUp(Supplier<String> missing, Duration wait) {
    this.missing = missing;
    this.waitNanos = wait.toNanos();
  }

  /** Whether the start is over. */
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
